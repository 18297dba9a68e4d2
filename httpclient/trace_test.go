package httpclient_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/httpclient"
)

// The hooks of the caller run beside those of the client, which report a reused connection.
func TestHooksOfTheCaller(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	for name, c := range map[string]struct{ theirs bool }{"none": {}, "all that the client has": {true}} {
		t.Run(name, func(t *testing.T) {
			var last atomic.Pointer[event.Request]
			client := newClient(t, func(config *httpclient.Config) {
				config.RootCAs = roots
				config.Observer = event.Func(func(e event.Event) { last.Store(e.Request) })
			})
			var started, done, got, wrote, first atomic.Int32
			req := request(t, http.MethodGet, s.URL, nil)
			if c.theirs {
				req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
					TLSHandshakeStart:    func() { started.Add(1) },
					TLSHandshakeDone:     func(tls.ConnectionState, error) { done.Add(1) },
					GotConn:              func(httptrace.GotConnInfo) { got.Add(1) },
					WroteRequest:         func(httptrace.WroteRequestInfo) { wrote.Add(1) },
					GotFirstResponseByte: func() { first.Add(1) },
				}))
			}
			for range 2 {
				require.Equal(t, "{}", do(t, client, req))
			}
			assert.True(t, last.Load().Reused, "the client's own hook has run")
			if c.theirs {
				assert.Equal(t, []int32{1, 1, 2, 2, 2}, []int32{started.Load(), done.Load(), got.Load(), wrote.Load(), first.Load()})
			}
		})
	}
}
