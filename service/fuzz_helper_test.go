package service_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/service"
)

// handler returns what answers requests without a network.
func handler(t *testing.T) func(name, body string) *httptest.ResponseRecorder {
	t.Helper()
	s, err := service.New(t.Context(), text(limits))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return func(name, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/ratelimit/"+name, strings.NewReader(body))
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w
	}
}
