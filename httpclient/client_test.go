package httpclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/httpclient"
)

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func request(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	require.NoError(t, err)
	return req
}

// do reads the answer to its end.
func do(t *testing.T, c *httpclient.Client, req *http.Request) (body string) {
	t.Helper()
	resp, err := c.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}

// requests collects the events.
type requests struct {
	mu  sync.Mutex
	all []event.Event
}

func (r *requests) Observe(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e)
}

func (r *requests) one(t *testing.T) event.Event {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Len(t, r.all, 1)
	return r.all[0]
}

func TestHeaders(t *testing.T) {
	var got http.Header
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })

	do(t, newClient(t, func(c *httpclient.Config) { c.RunID = "run 1" }), request(t, "GET", s.URL, nil))
	assert.Equal(t, "headrace", got.Get("User-Agent"))
	assert.Equal(t, "run 1", got.Get("X-Run-Id"))
	assert.NotEmpty(t, got.Get("X-Correlation-Id"))

	req := request(t, "GET", s.URL, nil)
	req.Header.Set("User-Agent", "mine")
	req.Header.Set("X-Correlation-Id", "c")
	do(t, newClient(t, func(c *httpclient.Config) { c.UserAgent = "theirs" }), req)
	assert.Equal(t, []string{"mine"}, got.Values("User-Agent"))
	assert.Equal(t, []string{"c"}, got.Values("X-Correlation-Id"))

	req = request(t, "GET", s.URL, nil)
	do(t, newClient(t, func(c *httpclient.Config) { c.RunID, c.NoIDs, c.UserAgent = "run", true, "theirs" }), req)
	assert.Equal(t, "theirs", got.Get("User-Agent"))
	assert.NotContains(t, got, "X-Run-Id")
	assert.NotContains(t, got, "X-Correlation-Id")
	assert.Empty(t, req.Header, "the caller's request is left alone")
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/", r.URL.Path)
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		assert.Empty(t, r.Cookies())
		http.Redirect(w, r, "/elsewhere?key=canary", http.StatusFound)
	})
	c := newClient(t, nil)
	for range 2 {
		resp, err := c.Do(request(t, "GET", s.URL+"/", nil))
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, http.StatusFound, resp.StatusCode)
		assert.Equal(t, "/elsewhere?key=canary", resp.Header.Get("Location"))
	}
	strict := newClient(t, func(c *httpclient.Config) { c.FailOnRedirect = true })
	err := get(t, strict, s.URL+"/")
	failed := failure(t, err)
	assert.Equal(t, httpclient.CodeRedirect, failed.Code)
	assert.Equal(t, http.StatusFound, failed.StatusCode)
	assert.NotContains(t, err.Error(), "canary")
}

func TestRedirectToNoURL(t *testing.T) {
	address := listen(t, says("HTTP/1.1 302 Found\r\nLocation: http://%zz?canary\r\nContent-Length: 0\r\n\r\n"))
	var told requests
	err := get(t, newClient(t, func(c *httpclient.Config) { c.Observer = &told }), "http://"+address)
	failed := failure(t, err)
	assert.Equal(t, httpclient.CodeRedirect, failed.Code)
	assert.Equal(t, http.StatusFound, failed.StatusCode)
	assert.Equal(t, 1, failed.Attempt)
	assert.NotContains(t, err.Error(), "canary")
	assert.Same(t, failed, told.one(t).Err)
	assert.Equal(t, failed.ID, told.one(t).Request.ID)
	assert.Equal(t, http.StatusFound, told.one(t).Request.Status)
}

func TestLimitsOfBodies(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	c := newClient(t, func(c *httpclient.Config) { c.MaxRequest, c.MaxResponse = 10, 5 })
	unknown := func(text string) io.Reader { return struct{ io.Reader }{strings.NewReader(text)} }
	for _, tc := range []struct {
		name string
		body io.Reader
		want string // "" for CodeBodyLimit
	}{
		{"as long as it may be", strings.NewReader("12345"), "12345"},
		{"as long as it may be, of unknown length", unknown("12345"), "12345"},
		{"the answer is too long", strings.NewReader("123456"), ""},
		{"the request is too long", strings.NewReader("12345678901"), ""},
		{"the request turns out to be too long", unknown("12345678901"), ""},
	} {
		resp, err := c.Do(request(t, "POST", s.URL, tc.body))
		var got []byte
		if err == nil {
			got, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if tc.want != "" {
			require.NoError(t, err, tc.name)
			assert.Equal(t, tc.want, string(got), tc.name)
			continue
		}
		assert.ErrorIs(t, err, httpclient.CodeBodyLimit, tc.name)
	}
}

func TestDecompressionOptOut(t *testing.T) {
	small := bomb(t)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, small)
		}
	})
	body := do(t, newClient(t, nil), request(t, "GET", s.URL, nil))
	assert.Len(t, body, 1<<20)
	plain := newClient(t, func(c *httpclient.Config) { c.NoDecompression = true })
	body = do(t, plain, request(t, "GET", s.URL, nil))
	assert.Empty(t, body, "gzip is not asked for")
	req := request(t, "GET", s.URL, nil)
	req.Header.Set("Accept-Encoding", "gzip")
	body = do(t, plain, req)
	assert.Equal(t, small, body)
}

func TestSignAndWrap(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Header.Get("Authorization"), r.Header.Get("X-Order"), r.URL.RawQuery)
	})
	var order []string
	wrap := func(name string) func(http.RoundTripper) http.RoundTripper {
		return func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				order = append(order, name)
				assert.Empty(t, r.Header.Get("Authorization"), "signed later")
				return next.RoundTrip(r)
			})
		}
	}
	c := newClient(t, func(c *httpclient.Config) {
		c.Wrap = []func(http.RoundTripper) http.RoundTripper{wrap("a"), wrap("b")}
		c.Sign = func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer x")
			r.URL.RawQuery = "key=y"
			return nil
		}
	})
	req := request(t, "GET", s.URL, nil)
	body := do(t, c, req)
	assert.Equal(t, "Bearer xkey=y", body)
	assert.Equal(t, []string{"a", "b"}, order)
	assert.Empty(t, req.Header)
	assert.Empty(t, req.URL.RawQuery)
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestUnsent(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	refused := errors.New("refused")
	for name, change := range map[string]func(*httpclient.Config){
		"the signer": func(c *httpclient.Config) { c.Sign = func(*http.Request) error { return refused } },
		"a round tripper": func(c *httpclient.Config) {
			c.Wrap = []func(http.RoundTripper) http.RoundTripper{func(http.RoundTripper) http.RoundTripper {
				return tripper(func(*http.Request) (*http.Response, error) { return nil, refused })
			}}
		},
	} {
		err := get(t, newClient(t, change), s.URL)
		failed := failure(t, err)
		assert.Equal(t, httpclient.CodeUnsent, failed.Code, name)
		assert.Equal(t, httpclient.PhasePrepare, failed.Phase, name)
		assert.Zero(t, failed.Attempt, name)
		assert.ErrorIs(t, err, refused, name)
	}
	c := newClient(t, nil)
	for name, req := range map[string]*http.Request{
		"no URL":     {},
		"no host":    {URL: &url.URL{Scheme: "http"}},
		"bad scheme": {URL: &url.URL{Scheme: "gopher", Host: "h"}},
		"bad header": {URL: &url.URL{Scheme: "http", Host: "h"}, Header: http.Header{"A": {"canary\n"}}},
	} {
		resp, err := c.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		assert.Equal(t, httpclient.CodeUnsent, failure(t, err).Code, "%s: %v", name, err)
		assert.NotContains(t, err.Error(), "canary")
	}
}

func TestCanceled(t *testing.T) {
	why := errors.New("changed my mind")
	for name, partial := range map[string]string{"waiting for the header": "", "reading the body": ok + "Content-Length: 10\r\n\r\nabc"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		address := listen(t, after(func(c net.Conn) {
			_, _ = io.WriteString(c, partial)
			if partial == "" {
				cancel(why)
			}
			_, _ = io.Copy(io.Discard, c)
		}))
		resp, err := newClient(t, nil).Do(request(t, "GET", "http://"+address, nil).WithContext(ctx))
		if partial != "" {
			require.NoError(t, err, name)
			cancel(why)
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		assert.ErrorIs(t, err, httpclient.CodeCanceled, name)
		assert.ErrorIs(t, err, context.Canceled, name)
		assert.ErrorIs(t, err, why, name)
	}
}

// A wait in a limiter is not counted by Timeouts.Call.
func TestCallTimeoutBeginsAfterWrap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told requests
		c := newClient(t, func(c *httpclient.Config) {
			c.Timeouts.Call = time.Second
			c.Observer = &told
			c.Wrap = []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
				return tripper(func(r *http.Request) (*http.Response, error) {
					time.Sleep(time.Hour)
					return next.RoundTrip(r)
				})
			}}
		})
		c.InMemory(says(ok + "Content-Length: 1\r\n\r\nx"))
		body := do(t, c, request(t, "GET", "http://h.example", nil))
		assert.Equal(t, "x", body)
		e := told.one(t)
		assert.Equal(t, time.Hour, e.Request.Waited)
		assert.Equal(t, time.Hour, e.Request.FirstByte)
		assert.Equal(t, time.Hour, e.Wait)
	})
}

func TestBreaker(t *testing.T) {
	var status atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) })
	b, err := breaker.New(breaker.Config{Failures: 2})
	require.NoError(t, err)
	c := newClient(t, func(c *httpclient.Config) { c.Breaker = b })
	for _, st := range []int64{500, 200, 500, 429, 529, 404, 500} {
		status.Store(st)
		do(t, c, request(t, "GET", s.URL, nil))
	}
	assert.Equal(t, breaker.Closed, b.Stats().State)
	do(t, c, request(t, "GET", s.URL, nil))
	assert.Equal(t, breaker.Open, b.Stats().State)
	err = get(t, c, s.URL)
	assert.Equal(t, httpclient.CodeUnsent, failure(t, err).Code)
	assert.ErrorIs(t, err, breaker.ErrOpen)
	assert.Zero(t, b.Stats().InFlight)
}

func TestBreakerHearsOfABrokenBody(t *testing.T) {
	address := listen(t, says(ok+"Content-Length: 10\r\n\r\nabc"))
	b, err := breaker.New(breaker.Config{Failures: 1})
	require.NoError(t, err)
	err = get(t, newClient(t, func(c *httpclient.Config) { c.Breaker = b }), "http://"+address)
	require.Error(t, err)
	assert.Equal(t, breaker.Open, b.Stats().State)
}

// A long answer to the probe of a breaker does not hold up other calls until its end.
func TestBreakerHearsOfABodyThatBegins(t *testing.T) {
	fails := atomic.Bool{}
	fails.Store(true)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if fails.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte("a"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	clock := clockwork.NewFakeClock()
	b, err := breaker.New(breaker.Config{Failures: 1, Successes: 1, Clock: clock})
	require.NoError(t, err)
	c := newClient(t, func(c *httpclient.Config) { c.Breaker = b })
	do(t, c, request(t, "GET", s.URL, nil))
	fails.Store(false)
	clock.Advance(time.Minute)
	resp, err := c.Do(request(t, "GET", s.URL, nil))
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, breaker.HalfOpen, b.Stats().State)
	_, err = resp.Body.Read(make([]byte, 1))
	require.NoError(t, err)
	assert.Equal(t, breaker.Closed, b.Stats().State)
}

// Closing an unread refusal makes its connection reusable.
func TestClosingARefusalDrainsIt(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write(make([]byte, 60<<10))
	})
	var told requests
	c := newClient(t, func(c *httpclient.Config) { c.Observer = &told })
	for range 20 {
		resp, err := c.Do(request(t, "GET", s.URL, nil))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	for i, e := range told.all {
		assert.Equal(t, i > 0, e.Request.Reused)
		assert.Equal(t, i > 0, e.Request.Connect == 0)
	}
}

func TestProxyPerHost(t *testing.T) {
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "proxy for "+r.URL.String()) })
	u, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	c := newClient(t, func(c *httpclient.Config) { c.Proxies = map[string]*url.URL{"inside.example": u} })
	body := do(t, c, request(t, "GET", "http://Inside.example/x", nil))
	assert.Equal(t, "proxy for http://Inside.example/x", body)
	direct := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "direct") })
	body = do(t, c, request(t, "GET", direct.URL, nil))
	assert.Equal(t, "direct", body)
}

func TestStandardIsOneClient(t *testing.T) {
	c := newClient(t, nil)
	assert.Same(t, c.Standard(), c.Standard())
	assert.Zero(t, c.Standard().Timeout)
	assert.Nil(t, c.Standard().Jar)
	c.Standard().CloseIdleConnections()
}
