package headrace_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/throttle"
)

// rewound is a body with a GetBody that rewinds its only reader.
type rewound struct {
	*strings.Reader

	noClose bool
	closed  bool
}

func (r *rewound) Close() error { r.closed = !r.noClose; return nil }

func (r *rewound) Read(p []byte) (int, error) {
	if r.closed {
		return 0, io.ErrClosedPipe
	}
	return r.Reader.Read(p)
}

// Of the ways in which SDKs give a body again: azcore and go-retryablehttp
// rewind the one reader, the latter without telling its length, as for a file.
func TestBodiesThatAreRewound(t *testing.T) {
	short := `{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}`
	long := `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 3<<20) + `"}],"model":"gpt-4o","max_tokens":4321}`
	for about, c := range map[string]struct {
		text    string
		length  bool // it is reported
		noClose bool // Close does nothing, as in azcore
		kind    string
	}{
		"azcore":           {short, true, true, "application/json"},
		"azcore, long":     {long, true, true, "application/json"},
		"go-retryablehttp": {short, true, true, ""},
		"go-retryablehttp, a file of unknown length": {short, false, true, ""},
		"a long file of unknown length":              {long, false, true, "application/json"},
		"an upload":                                  {short, true, true, "application/octet-stream"},
		"a file that Close closes":                   {short, false, false, "application/json"},
	} {
		t.Run(about, func(t *testing.T) {
			l, b := limiter(t)
			var mu sync.Mutex
			var got []string
			refuse := !strings.Contains(about, "Close closes") // which cannot be sent again
			url, client := serve(t, l, presets.OpenAITier1, func(w http.ResponseWriter, r *http.Request) {
				text, err := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				assert.NoError(t, err)
				if got = append(got, string(text)); len(got) == 1 && refuse {
					w.WriteHeader(http.StatusTooManyRequests)
				}
			})
			body := &rewound{Reader: strings.NewReader(c.text), noClose: c.noClose}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
			require.NoError(t, err)
			req.Body = body
			req.GetBody = func() (io.ReadCloser, error) {
				_, err := body.Seek(0, io.SeekStart)
				return body, err
			}
			if req.Header.Set("Content-Type", c.kind); c.length {
				req.ContentLength = int64(len(c.text))
			}
			resp, err := client.Do(req)
			require.NoError(t, err)
			resp.Body.Close()
			assert.Equal(t, http.StatusOK, resp.StatusCode)
			mu.Lock()
			defer mu.Unlock()
			want := []string{c.text, c.text}
			if !refuse {
				want = want[1:]
			}
			require.Len(t, got, len(want))
			assert.True(t, got[0] == want[0] && got[len(got)-1] == want[0], "each attempt has all of it")
			if c.kind == "application/json" && len(c.text) > len(short) {
				assert.EqualValues(t, 4321, b.sent[0].Cost.Output, "what stands behind a long text is found")
			}
		})
	}
}

// A refusal may come while the body is still being sent: the next attempt waits
// until the reader that both share is free.
func TestARefusalBeforeTheBodyIsSent(t *testing.T) {
	text := strings.Repeat("x", 8<<20)
	var mu sync.Mutex
	var sizes []int
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		first := sizes == nil
		sizes = append(sizes, 0)
		mu.Unlock()
		if first {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		all, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		mu.Lock()
		defer mu.Unlock()
		sizes[len(sizes)-1] = len(all)
	}))
	defer s.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	l, err := guard.New(guard.Policy{Limits: throttle.Limits{Concurrency: 4}})
	require.NoError(t, err)
	client := &http.Client{Transport: headrace.Transport(base, presets.OpenAITier1, headrace.Within(l))}
	body := &rewound{Reader: strings.NewReader(text), noClose: true}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL, nil)
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Body, req.ContentLength = body, int64(len(text))
	req.GetBody = func() (io.ReadCloser, error) {
		_, err := body.Seek(0, io.SeekStart)
		return body, err
	}
	resp, err := client.Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, len(text), sizes[len(sizes)-1])
}

// once is a body without GetBody.
type once struct{ io.Reader }

// A body without GetBody is sent again, whatever its length is said to be, up to a bound.
func TestABodyWithoutGetBodyIsResent(t *testing.T) {
	const kept = 16 << 20
	for about, c := range map[string]struct {
		size   int
		told   bool // its length
		option []headrace.Option
		want   int // attempts
	}{
		"short, of unknown length":       {100, false, nil, 2},
		"4 MiB":                          {4 << 20, true, nil, 2},
		"4 MiB, of unknown length":       {4 << 20, false, nil, 2},
		"16 MiB, of unknown length":      {kept, false, nil, 2},
		"longer than 16 MiB":             {kept + 1, true, nil, 1},
		"longer, of unknown length":      {kept + 1, false, nil, 1},
		"longer than the option":         {5, false, []headrace.Option{headrace.WithResend(4)}, 1},
		"as long as the option":          {5, false, []headrace.Option{headrace.WithResend(5)}, 2},
		"as long as a large option":      {kept + 1, false, []headrace.Option{headrace.WithResend(kept + 1)}, 2},
		"of unknown length, by no means": {5, false, []headrace.Option{headrace.WithResend(0)}, 1},
	} {
		t.Run(about, func(t *testing.T) {
			l, _ := limiter(t)
			var mu sync.Mutex
			var got []int
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, err := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				assert.NoError(t, err)
				assert.Equal(t, len(text), strings.Count(string(text), "x"))
				if got = append(got, len(text)); len(got) == 1 {
					w.WriteHeader(http.StatusTooManyRequests)
				}
			}))
			defer s.Close()
			base := &http.Transport{}
			defer base.CloseIdleConnections()
			client := &http.Client{Transport: headrace.Transport(base, "", append(c.option, headrace.Within(l))...)}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, once{strings.NewReader(strings.Repeat("x", c.size))})
			require.NoError(t, err)
			require.Nil(t, req.GetBody)
			if req.Header.Set("Content-Type", "application/octet-stream"); c.told {
				req.ContentLength = int64(c.size)
			}
			resp, err := client.Do(req)
			require.NoError(t, err)
			resp.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			require.Len(t, got, c.want)
			for _, n := range got {
				assert.Equal(t, c.size, n)
			}
		})
	}
}

// The model behind a long text is found in a body of known length without GetBody.
func TestALongBodyWithoutGetBodyIsLookedAt(t *testing.T) {
	text := `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 3<<20) + `"}],"model":"gpt-4o","max_tokens":4321}`
	l, b := limiter(t)
	url, client := serve(t, l, presets.OpenAITier1, func(_ http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Equal(t, text, string(got))
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, once{strings.NewReader(text)})
	require.NoError(t, err)
	req.ContentLength = int64(len(text))
	resp, err := client.Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	assert.EqualValues(t, 4321, b.sent[0].Cost.Output)
}

// A body that is read before the first attempt may not arrive.
func TestABodyThatDoesNotArriveEndsWithTheContext(t *testing.T) {
	for _, length := range []int64{10, 2 << 20} { // kept, and looked at
		synctest.Test(t, func(t *testing.T) {
			l, _ := limiter(t)
			sent := 0
			rt := under(tripper(func(*http.Request) (*http.Response, error) {
				sent++
				return answer(http.StatusOK, "", `{}`), nil
			}), presets.OpenAITier1, l)
			reason := errors.New("no longer wanted")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Minute, func() { cancel(reason) })
			from, to := io.Pipe()
			defer func() { _ = to.Close() }()
			go func() { _, _ = io.WriteString(to, `{"a":`) }()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, secretURL, from)
			require.NoError(t, err)
			req.ContentLength = length
			began := time.Now()
			time.AfterFunc(time.Hour, func() { _ = to.Close() })
			_, err = rt.RoundTrip(req) //nolint:bodyclose // there is none
			require.ErrorIs(t, err, reason)
			assert.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, time.Minute, time.Since(began))
			assert.Zero(t, sent)
		})
	}
}

// panicky is a body with a Close that ends its Read, and panics the first time.
type panicky struct {
	io.Reader

	to     io.Closer
	closed atomic.Bool
}

func (c *panicky) Close() error {
	_ = c.to.Close()
	if !c.closed.Swap(true) {
		panic("closed")
	}
	return nil
}

// Close is called on a goroutine of its own there, where a panic would end the process.
func TestABodyWhoseClosePanicsWhileItIsReadEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := limiter(t)
		rt := under(tripper(func(*http.Request) (*http.Response, error) { return answer(http.StatusOK, "", `{}`), nil }), presets.OpenAITier1, l)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		from, to := io.Pipe()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, secretURL, http.NoBody)
		require.NoError(t, err)
		req.Body, req.GetBody, req.ContentLength = &panicky{Reader: from, to: to}, nil, 10
		_, err = rt.RoundTrip(req) //nolint:bodyclose // there is none
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// A server recovers a panic of its handler, and the slot would be lost for good.
func TestABodyOfAResponseWhoseClosePanicsEndsTheCall(t *testing.T) {
	l, b := limiter(t)
	rt := under(tripper(func(*http.Request) (*http.Response, error) {
		resp := answer(http.StatusOK, "Content-Type: text/plain", "text")
		resp.Body = &panicky{Reader: strings.NewReader("text"), to: io.NopCloser(nil)}
		return resp, nil
	}), "", l)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, secretURL, http.NoBody)
	require.NoError(t, err)
	resp, err := rt.RoundTrip(req) //nolint:bodyclose // it is, below
	require.NoError(t, err)
	assert.PanicsWithValue(t, "closed", func() { _ = resp.Body.Close() })
	assert.Zero(t, l.Stats().InFlight)
	assert.NoError(t, resp.Body.Close())
	assert.Len(t, b.ended(), 1)
}

// A body is left behind if its Close does not end its Read, whether it is read in
// advance or by net/http, which waits for the goroutine that writes the request.
func TestABodyWhoseReadNeverReturnsEndsWithTheContext(t *testing.T) {
	for about, length := range map[string]int64{"kept": 10, "looked at": 2 << 20, "sent as it comes": -1} {
		t.Run(about, func(t *testing.T) {
			l, b := limiter(t)
			url, client := serve(t, l, presets.OpenAITier1, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
			from, to := io.Pipe()
			defer func() { _ = to.Close() }() // the goroutine that reads ends with the test
			reason := errors.New("no longer wanted")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				_, _ = io.WriteString(to, `{"a":`)
				_, _ = io.WriteString(to, `1`) // which is received once the next Read waits
				cancel(reason)
			}()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, io.NopCloser(from))
			require.NoError(t, err)
			req.ContentLength = length
			_, err = client.Do(req) //nolint:bodyclose // there is none
			require.ErrorIs(t, err, reason)
			assert.Zero(t, l.Stats().InFlight)
			assert.LessOrEqual(t, len(b.ended()), 1)
		})
	}
}
