package providertest_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// A body is answered, or refused with a status below 500 and an error that is
// JSON. No request is charged a negative amount.
func FuzzRequest(f *testing.F) {
	paths := []string{"/v1/chat/completions", "/v1/messages", "/v1/embeddings"}
	f.Fuzz(func(t *testing.T, body []byte, path uint8) {
		s, err := providertest.New(providertest.Config{})
		require.NoError(t, err)
		defer s.Close()
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, paths[int(path)%len(paths)], bytes.NewReader(body)))
		require.Less(t, w.Code, http.StatusInternalServerError, "%s", w.Body)
		if w.Code != http.StatusOK {
			require.True(t, json.Valid(w.Body.Bytes()), "%s", w.Body)
		}
		for a := range s.Ledger().All() {
			for _, n := range []int{a.Reserved.Total, a.Reserved.Input, a.Reserved.Output, a.Used.Total, a.Used.Input, a.Used.Output} {
				require.GreaterOrEqual(t, n, 0)
			}
		}
	})
}
