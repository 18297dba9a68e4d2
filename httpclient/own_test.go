package httpclient_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/httpclient"
)

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

// A fault of this side is reported as such, is not retried, and does not open a breaker.
func TestOwnFaults(t *testing.T) {
	broken := errors.New("my disk failed")
	lookup := &net.DNSError{Err: "no such host", Name: "auth.example"}
	declared := func(text string, length int64) func(*http.Request) {
		return func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), length
		}
	}
	breaks := func(err error) func(*http.Request) {
		return func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader("abc"), brokenReader{err})), 10
		}
	}
	for name, tc := range map[string]struct {
		spoil  func(*http.Request)
		sign   error
		code   httpclient.Code
		inside error
	}{
		"Sign fails":                         {sign: broken, code: httpclient.CodeUnsent, inside: broken},
		"Sign finds no host":                 {sign: lookup, code: httpclient.CodeUnsent, inside: lookup},
		"Sign is refused by TLS":             {sign: &net.OpError{Op: "remote error", Err: broken}, code: httpclient.CodeUnsent, inside: broken},
		"the body breaks":                    {spoil: breaks(broken), code: httpclient.CodeUpload, inside: broken},
		"the body ends too early":            {spoil: breaks(io.ErrUnexpectedEOF), code: httpclient.CodeUpload, inside: io.ErrUnexpectedEOF},
		"the body finds no host":             {spoil: breaks(lookup), code: httpclient.CodeUpload, inside: lookup},
		"the body is shorter than it says":   {spoil: declared("abc", 5), code: httpclient.CodeUpload},
		"a control character in the URL":     {spoil: func(r *http.Request) { r.URL.Opaque = "\x7f" }, code: httpclient.CodeUnsent},
		"a control character in the query":   {spoil: func(r *http.Request) { r.URL.RawQuery = "a\x01" }, code: httpclient.CodeUnsent},
		"a body that is longer than it says": {spoil: declared("abcdef", 3), code: httpclient.CodeUpload},
	} {
		t.Run(name, func(t *testing.T) {
			for _, http2 := range []bool{false, true} {
				s, trust := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					<-r.Context().Done() // no answer comes before the fault
				})
				b, err := breaker.New(breaker.Config{Failures: 1})
				require.NoError(t, err)
				c := newClient(t, func(c *httpclient.Config) {
					trust(c)
					c.NoHTTP2, c.Breaker = !http2, b
					c.Sign = func(*http.Request) error { return tc.sign }
				})
				for range 3 {
					req := request(t, "PUT", s.URL, nil)
					if tc.spoil != nil {
						tc.spoil(req)
					}
					resp, err := c.Do(req)
					if err == nil {
						resp.Body.Close()
					}
					require.Equal(t, tc.code, failure(t, err).Code, "%v", err)
					if tc.inside != nil {
						require.ErrorIs(t, err, tc.inside)
					}
				}
				assert.Equal(t, breaker.Closed, b.Stats().State)
			}
		})
	}
}
