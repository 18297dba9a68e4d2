package httpclient_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
)

// memory is as much of RFC 9111 as these tests and the example need: it keeps
// answers to GET, gives them back while they are good for a time, and else asks by their ETag.
type memory struct {
	next http.RoundTripper
	mu   sync.Mutex // guards kept
	kept map[string]*stored
}

type stored struct {
	header http.Header
	body   []byte
}

func remember(next http.RoundTripper) http.RoundTripper {
	return &memory{next: next, kept: map[string]*stored{}}
}

func (m *memory) RoundTrip(req *http.Request) (*http.Response, error) {
	m.mu.Lock()
	known := m.kept[req.URL.String()]
	m.mu.Unlock()
	if known != nil && strings.Contains(known.header.Get("Cache-Control"), "max-age") {
		return known.answer(req), nil
	}
	if known != nil {
		req = req.Clone(req.Context())
		req.Header.Set("If-None-Match", known.header.Get("ETag"))
	}
	resp, err := m.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotModified {
		return known.answer(req), resp.Body.Close()
	}
	if req.Method != http.MethodGet || resp.StatusCode != http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	made := &stored{resp.Header, body}
	m.mu.Lock()
	m.kept[req.URL.String()] = made
	m.mu.Unlock()
	return made.answer(req), nil
}

func (s *stored) answer(req *http.Request) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", Header: s.header.Clone(), Request: req,
		Body: io.NopCloser(bytes.NewReader(s.body)), ContentLength: int64(len(s.body)),
	}
}

func TestCache(t *testing.T) {
	var asked, signed, permits atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("ETag", `"1"`)
		if r.URL.Path == "/long" {
			w.Header().Set("Cache-Control", "max-age=60")
		}
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, "hello")
	})
	var told requests
	c := newClient(t, func(c *httpclient.Config) {
		c.Cache, c.Observer = remember, &told
		c.Wrap = []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) { // a limiter
				permits.Add(1)
				return next.RoundTrip(r)
			})
		}}
		c.Sign = func(*http.Request) error { signed.Add(1); return nil }
	})
	for i, tc := range []struct {
		path     string
		attempts int // and permits, and signatures, and requests at the server
		cached   bool
	}{
		{"/long", 1, false},
		{"/long", 0, true},
		{"/long", 0, true},
		{"/ask", 1, false},
		{"/ask", 1, false}, // 304
		{"/ask", 1, false},
	} {
		before := asked.Load()
		assert.Equal(t, "hello", do(t, c, request(t, "GET", s.URL+tc.path, nil)))
		assert.Equal(t, int64(tc.attempts), asked.Load()-before, i)
		assert.Equal(t, asked.Load(), permits.Load(), i)
		assert.Equal(t, asked.Load(), signed.Load(), i)
		e := told.all[i]
		assert.Equal(t, tc.attempts, e.Attempt, i)
		assert.Equal(t, tc.cached, e.Request.Cached, i)
		assert.Equal(t, 200, e.Request.Status, i)
		assert.Equal(t, int64(5), e.Request.Received, i)
		assert.NoError(t, e.Err, i)
	}
	assert.Len(t, told.all, 6)
}

// answers is a cache that has one answer for everything.
func answers(resp *http.Response, err error) func(*httpclient.Config) {
	return func(c *httpclient.Config) {
		c.Cache = func(http.RoundTripper) http.RoundTripper {
			return tripper(func(*http.Request) (*http.Response, error) { return resp, err })
		}
	}
}

func TestCachedBodiesHaveTheirLimits(t *testing.T) {
	for text, want := range map[string]string{"hello": "hello", "hello!": "hello", "hello, world": "hello"} {
		var told requests
		body := &tracked{Reader: strings.NewReader(text)}
		c := newClient(t, func(c *httpclient.Config) {
			answers(&http.Response{StatusCode: http.StatusOK, Body: body}, nil)(c)
			c.MaxResponse, c.Observer = 5, &told
		})
		resp, err := c.Do(request(t, "GET", "http://h.example/?key=canary", nil))
		require.NoError(t, err)
		got, err := io.ReadAll(resp.Body)
		assert.Equal(t, want, string(got))
		if text == want {
			assert.NoError(t, err)
		} else {
			assert.ErrorIs(t, failure(t, err), httpclient.CodeBodyLimit)
			assert.ErrorContains(t, err, "MaxResponse")
			assert.NotContains(t, err.Error(), "canary")
			again, err := resp.Body.Read(make([]byte, 1))
			assert.Zero(t, again)
			assert.Error(t, err)
		}
		require.NoError(t, resp.Body.Close())
		assert.Positive(t, body.closed.Load())
		e := told.one(t)
		assert.Equal(t, int64(5), e.Request.Received)
		assert.Equal(t, text != want, e.Err != nil)
		assert.True(t, e.Request.Cached)
	}
}

func TestCachedBodyThatFails(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want httpclient.Code
	}{
		"an error":     {errors.New("disk: canary"), httpclient.CodeUnknown},
		"it is short":  {io.ErrUnexpectedEOF, httpclient.CodeRead},
		"the caller's": {context.Canceled, httpclient.CodeCanceled},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		var told requests
		c := newClient(t, func(c *httpclient.Config) {
			answers(&http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(io.MultiReader(strings.NewReader("a"), noMore{tc.err}))}, nil)(c)
			c.Observer = &told
		})
		resp, err := c.Do(request(t, "GET", "http://h.example/?key=canary", nil).WithContext(ctx))
		require.NoError(t, err)
		if errors.Is(tc.err, context.Canceled) {
			cancel()
		}
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		assert.Equal(t, tc.want, failure(t, err).Code, name)
		assert.Equal(t, httpclient.PhaseBody, failure(t, err).Phase, name)
		assert.NotContains(t, err.Error(), "canary", name)
		assert.Same(t, failure(t, err), told.one(t).Err, name)
	}
}

// Whatever a cache or a wrapped round tripper does, the caller gets an answer or an *Error.
func TestRoundTrippersThatBreakTheRules(t *testing.T) {
	refused := errors.New("refused")
	left := &tracked{Reader: strings.NewReader("x")}
	for name, tc := range map[string]struct {
		trip tripper
		want func(is *assert.Assertions, err error)
	}{
		"nothing": {
			func(*http.Request) (*http.Response, error) { return nil, nil }, //nolint:nilnil // the point
			func(is *assert.Assertions, err error) { is.ErrorContains(err, "neither") },
		},
		"both": {
			func(*http.Request) (*http.Response, error) { return &http.Response{Body: left}, refused },
			func(is *assert.Assertions, err error) {
				is.ErrorIs(err, refused)
				is.Equal(int64(1), left.closed.Load())
			},
		},
		"both, without a body": {
			func(*http.Request) (*http.Response, error) { return &http.Response{}, refused },
			func(is *assert.Assertions, err error) { is.ErrorIs(err, refused) },
		},
		"a panic": {
			func(*http.Request) (*http.Response, error) { panic("oops") },
			func(is *assert.Assertions, err error) {
				is.ErrorContains(err, "oops")
				p, ok := errors.AsType[*fault.PanicError](err)
				if is.True(ok) {
					is.Equal("oops", p.Value)
					is.Contains(string(p.Stack), "cache_test.go")
				}
			},
		},
		"a panic with an error": {
			func(*http.Request) (*http.Response, error) { panic(refused) },
			func(is *assert.Assertions, err error) { is.ErrorIs(err, refused) },
		},
		"a panic with a secret": {
			func(r *http.Request) (*http.Response, error) { panic(r.Header.Get("X-Key")) },
			func(is *assert.Assertions, err error) {
				p, ok := errors.AsType[*fault.PanicError](err)
				if is.True(ok) {
					is.Equal("REDACTED", p.Value)
					is.NotContains(string(p.Stack), "canary")
				}
			},
		},
		"a redirect without a body": {
			func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusFound, Request: r}, nil
			},
			func(is *assert.Assertions, err error) { is.ErrorIs(err, httpclient.CodeRedirect) },
		},
	} {
		for place, put := range map[string]func(*httpclient.Config, func(http.RoundTripper) http.RoundTripper){
			"Cache": func(c *httpclient.Config, f func(http.RoundTripper) http.RoundTripper) { c.Cache = f },
			"Wrap": func(c *httpclient.Config, f func(http.RoundTripper) http.RoundTripper) {
				c.Wrap = []func(http.RoundTripper) http.RoundTripper{f}
			},
		} {
			t.Run(name+" in "+place, func(t *testing.T) {
				left.closed.Store(0)
				var told requests
				c := newClient(t, func(c *httpclient.Config) {
					put(c, func(http.RoundTripper) http.RoundTripper { return tc.trip })
					c.Observer, c.FailOnRedirect = &told, true
				})
				body := &tracked{Reader: strings.NewReader("abc")}
				req := request(t, "POST", "http://h.example", body)
				req.Header.Set("X-Key", "canary-7d1c")
				resp, err := c.Do(req)
				if err == nil {
					resp.Body.Close()
				}
				assert.Zero(t, failure(t, err).Attempt)
				assert.Same(t, failure(t, err), told.one(t).Err)
				assert.NotContains(t, err.Error(), "canary")
				if strings.HasPrefix(name, "a panic") {
					assert.Positive(t, body.closed.Load())
				}
				tc.want(assert.New(t), err)
			})
		}
	}
}

func TestAnswerWithoutABody(t *testing.T) {
	var told requests
	c := newClient(t, func(c *httpclient.Config) {
		answers(&http.Response{StatusCode: http.StatusOK}, nil)(c)
		c.Observer = &told
	})
	assert.Empty(t, do(t, c, request(t, "GET", "http://h.example", nil)))
	assert.True(t, told.one(t).Request.Cached)
}

func TestResendingNothing(t *testing.T) {
	c := newClient(t, func(c *httpclient.Config) {
		withRetry(c)
		c.Wrap = append(c.Wrap, func(http.RoundTripper) http.RoundTripper {
			return tripper(func(*http.Request) (*http.Response, error) { return nil, nil }) //nolint:nilnil // the point
		})
	})
	assert.ErrorContains(t, get(t, c, "http://h.example"), "neither")
}

func TestStackIsMadeOnce(t *testing.T) {
	var order []string
	layer := func(name string) func(http.RoundTripper) http.RoundTripper {
		order = append(order, "made "+name)
		return func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				order = append(order, name)
				return next.RoundTrip(r)
			})
		}
	}
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	c := newClient(t, func(c *httpclient.Config) {
		c.Wrap = []func(http.RoundTripper) http.RoundTripper{layer("first"), layer("second")}
		c.Cache = layer("cache")
	})
	do(t, c, request(t, "GET", s.URL, nil))
	do(t, c, request(t, "GET", s.URL, nil))
	assert.Equal(t, []string{
		"made first", "made second", "made cache", "cache", "first", "second", "cache", "first", "second",
	}, order)
}

func TestStackThatCannotBeMade(t *testing.T) {
	none := func(http.RoundTripper) http.RoundTripper { return nil }
	_, err := httpclient.New(httpclient.Config{Cache: none, Wrap: []func(http.RoundTripper) http.RoundTripper{none, none}})
	for _, field := range []string{"Cache", "Wrap[0]", "Wrap[1]"} {
		assert.ErrorContains(t, err, field+": returned nil")
	}
}
