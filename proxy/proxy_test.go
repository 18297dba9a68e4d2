package proxy_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/proxy"
)

func TestARequestIsPassedOn(t *testing.T) {
	s := open(t, proxy.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Method", r.Method)
		w.Header().Set("X-Uri", r.RequestURI)
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(b)
	}))
	got := s.do(t, s.request(t, http.MethodPost, "/up/v1/chat?a=b;c&d", `{"model":"m"}`))

	assert.Equal(t, http.StatusAccepted, got.status)
	assert.Equal(t, `{"model":"m"}`, got.body)
	assert.Equal(t, "POST", got.header.Get("X-Method"))
	assert.Equal(t, "/v1/chat?a=b;c&d", got.header.Get("X-Uri"))
	assert.Equal(t, "0.000", got.header.Get("X-Headrace-Waited"))
	assert.Equal(t, "1", got.header.Get("X-Headrace-Attempts"))
	assert.Empty(t, got.header.Get("X-Headrace-Error"))
}

// The context of a call has the values of the server's, also once the handler has
// returned, and has ended by then.
func TestTheContextOfACall(t *testing.T) {
	for _, headers := range [][]string{nil, {"Idempotency-Key", "k1"}} {
		var ctx context.Context
		inBubble(t, proxy.Config{}, func(w http.ResponseWriter, r *http.Request) {
			ctx = r.Context()
			_, _ = io.WriteString(w, "answer")
		}, func(s *bubble) {
			t := s.t
			got := s.get(t, "/up/v1", `{}`, headers...) //nolint:contextcheck // ctx is that of the call
			assert.Equal(t, "answer", got.body)
			synctest.Wait()
			assert.ErrorIs(t, ctx.Err(), context.Canceled)
			assert.IsType(t, &http.Server{}, ctx.Value(http.ServerContextKey))
			assert.NotNil(t, ctx.Value(http.LocalAddrContextKey))
			assert.Nil(t, ctx.Value("unknown"))
		})
	}
}
