package proxy_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/wiretest"
	"github.com/headrace/headrace/proxy"
)

// panicking is a body that panics after so many bytes.
type panicking struct{ left int }

func (p *panicking) Read(b []byte) (int, error) {
	if p.left == 0 {
		panic(wiretest.Canary)
	}
	n := min(p.left, len(b))
	p.left -= n
	return n, nil
}

func (p *panicking) Close() error { return nil }

// A panic is logged without its value, and its request gets a 500 unless its answer has begun.
func TestPanicsAreLogged(t *testing.T) {
	breaks := func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: -1, Body: &panicking{left: 1}}, nil
	}
	for name, tc := range map[string]struct {
		base    func(*http.Request) (*http.Response, error)
		body    io.Reader // of the request
		headers []string
		status  int // 0: the connection is closed in the middle of the answer
	}{
		"body of the request": {body: &panicking{left: 1}, status: http.StatusInternalServerError},
		"transport":           {base: func(*http.Request) (*http.Response, error) { panic(wiretest.Canary) }, status: http.StatusInternalServerError},
		"transport, joinable": {
			base:    func(*http.Request) (*http.Response, error) { panic(wiretest.Canary) },
			headers: []string{"Idempotency-Key", "k"}, status: http.StatusInternalServerError,
		},
		"body of the answer":           {base: breaks},
		"body of the answer, joinable": {base: breaks, headers: []string{"Idempotency-Key", "k"}},
	} {
		t.Run(name, func(t *testing.T) {
			log := &wiretest.Log{}
			s := before(t, proxy.Config{
				Upstreams: map[string]proxy.Upstream{"up": {URL: "http://127.0.0.1:1"}},
				Base:      roundTrip(tc.base), Log: slog.New(slog.NewTextHandler(log, nil)),
			})
			if tc.body != nil {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/up/v1", tc.body)
				r.Host = "127.0.0.1"
				w := httptest.NewRecorder()
				s.proxy.ServeHTTP(w, r)
				assert.Equal(t, tc.status, w.Code)
				assert.Equal(t, "headrace_internal", w.Header().Get("X-Headrace-Error"))
			} else {
				resp, err := s.http.Do(s.request(t, http.MethodPost, "/up/v1", "{}", tc.headers...))
				require.NoError(t, err)
				text, err := io.ReadAll(resp.Body)
				require.NoError(t, resp.Body.Close())
				if tc.status == 0 {
					assert.ErrorIs(t, err, io.ErrUnexpectedEOF, "%q", text)
				} else {
					assert.NoError(t, err)
					assert.Equal(t, tc.status, resp.StatusCode)
					assert.Equal(t, "headrace_internal", resp.Header.Get("X-Headrace-Error"))
				}
			}
			assert.Contains(t, log.String(), "a request panicked")
			assert.Contains(t, log.String(), "panic_test.go", "the stack")
			assert.NotContains(t, log.String(), wiretest.Canary)
		})
	}
}

// Without a log, a server of the program's own reports a panic.
func TestPanicsWithoutALog(t *testing.T) {
	s := before(t, proxy.Config{Upstreams: map[string]proxy.Upstream{"up": {URL: "http://127.0.0.1:1"}}})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/up/v1", &panicking{})
	r.Host = "127.0.0.1"
	assert.PanicsWithValue(t, wiretest.Canary, func() { s.proxy.ServeHTTP(httptest.NewRecorder(), r) })
}
