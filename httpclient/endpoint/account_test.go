package endpoint_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/httpclient/endpoint"
)

// Sign adds the key below the transport, which still has a guard for each key.
func TestAKeyThatIsOutOfMoneyStopsNoOtherEndpoint(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer sk-poor-1234" {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"error":{"code":"insufficient_quota","type":"insufficient_quota","message":"no money"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"text":"hello"}`))
	}))
	t.Cleanup(s.Close)
	wrap := func(next http.RoundTripper) http.RoundTripper { return headrace.Transport(next, "openai/tier1") }
	call := func(secret string) error {
		e, err := endpoint.New(endpoint.Config{
			BaseURL: s.URL, Secret: httpclient.NewSecret(secret),
			Config: httpclient.Config{Wrap: []func(http.RoundTripper) http.RoundTripper{wrap}},
		})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, e.Close()) })
		_, err = e.Call(context.WithoutCancel(t.Context()), map[string]string{"say": "hi"})
		return err
	}
	require.Error(t, call("sk-poor-1234"))
	require.ErrorIs(t, call("sk-poor-1234"), adaptive.ErrQuotaExhausted, "nothing is sent with that key for a while")
	require.NoError(t, call("sk-rich-5678"))
}
