package account

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two requests that differ in nothing have one account. A key that is not a
// token or a signature is an account of its own.
func FuzzIdentity(f *testing.F) {
	f.Fuzz(func(t *testing.T, authorization, key, query string) {
		request := func() *http.Request {
			r := httptest.NewRequest(http.MethodPost, "https://api.example.com/v1", nil)
			r.Header = http.Header{"Authorization": {authorization}, "X-Api-Key": {key}}
			r.URL.RawQuery = query
			return r
		}
		a, b := Of(request()), Of(request())
		require.Equal(t, a, b)
		if id := Identity(request()); id != "" {
			require.NotZero(t, a)
		}
		plain := "Bearer k" + strings.ReplaceAll(authorization, " ", "")
		require.Equal(t, plain, authorized(plain))
		if authorization == "" && key != "" {
			require.Equal(t, key, Identity(request()))
		}
	})
}
