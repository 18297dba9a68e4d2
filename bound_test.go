package headrace_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/retry"
)

// silent never answers.
func silent(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// twice repeats a failed attempt once, at once.
func twice() *retry.Policy { return &retry.Policy{MaxAttempts: 2, Initial: 1, Max: 1} }

func TestFirstByte(t *testing.T) {
	for name, c := range map[string]struct {
		method   string
		timeout  time.Duration
		opts     []headrace.Option
		attempts int
		took     time.Duration
		says     string
	}{
		"POST":                  {http.MethodPost, 0, nil, 1, 10 * time.Minute, "no response in the 10m0s"},
		"GET":                   {http.MethodGet, 0, nil, 2, 20 * time.Minute, "no response in the 10m0s"},
		"set":                   {http.MethodPost, 0, []headrace.Option{headrace.WithFirstByte(time.Hour)}, 1, time.Hour, "no response in the 1h0m0s"},
		"off":                   {http.MethodPost, 0, []headrace.Option{headrace.WithFirstByte(0)}, 1, 24 * time.Hour, "given up"},
		"a timeout only":        {http.MethodPost, time.Hour, nil, 1, time.Hour, "timeout of 1h0m0s"},
		"both, shorter timeout": {http.MethodPost, time.Minute, []headrace.Option{headrace.WithFirstByte(time.Hour)}, 1, time.Minute, "timeout of 1m0s"},
		"both, longer timeout":  {http.MethodPost, time.Hour, []headrace.Option{headrace.WithFirstByte(time.Minute)}, 1, time.Minute, "no response in the 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, b := limiter(t)
				rt := headrace.Transport(tripper(silent), "", append(c.opts, headrace.Within(l),
					headrace.With(guard.Policy{Timeout: c.timeout, Retry: twice()}))...)
				ctx, cancel := context.WithTimeoutCause(t.Context(), 24*time.Hour, errors.New("given up"))
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, c.method, secretURL, http.NoBody)
				require.NoError(t, err)
				began := time.Now()
				_, err = rt.RoundTrip(req) //nolint:bodyclose // there is none
				if c.took < 24*time.Hour {
					assert.ErrorContains(t, err, c.says)
					timeout, ok := errors.AsType[interface {
						error
						Timeout() bool
					}](err)
					assert.True(t, ok && timeout.Timeout())
				}
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.NotContains(t, err.Error(), "canary")
				assert.Equal(t, c.took, time.Since(began).Truncate(time.Second))
				ended := b.ended()
				require.Len(t, ended, c.attempts)
				if c.took < 24*time.Hour {
					assert.Equal(t, adaptive.Transient, ended[0].Verdict)
				}
				assert.Zero(t, l.Stats().InFlight)
			})
		})
	}
}

// pausing is a body that arrives in pieces, an hour apart.
type pausing struct{ left int }

func (p *pausing) Read(b []byte) (int, error) {
	if p.left--; p.left < 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Hour)
	return copy(b, "x"), nil
}

func (*pausing) Close() error { return nil }

// An upload may take any time: the bound counts from its last byte, in the first
// attempt and in the next.
func TestTheFirstByteIsWaitedForFromTheLastOfTheRequest(t *testing.T) {
	const pieces, every = 60, time.Minute
	for name, c := range map[string]struct {
		kind string
		body io.Reader
		took time.Duration // until it is sent
	}{
		"kept":                {"application/json", strings.NewReader(strings.Repeat(" ", pieces)), pieces * every},
		"with GetBody":        {"text/plain", strings.NewReader(strings.Repeat("x", pieces)), pieces * every},
		"without GetBody":     {"text/plain", once{strings.NewReader(strings.Repeat("x", pieces))}, pieces * every},
		"still being written": {"text/plain", &pausing{3}, 3*time.Hour + 3*every},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, b := limiter(t)
				base := tripper(func(r *http.Request) (*http.Response, error) {
					for { // as a slow provider reads it
						_, err := r.Body.Read(make([]byte, 1))
						if err == io.EOF {
							return silent(r)
						} else if err != nil {
							return nil, err
						}
						time.Sleep(every)
					}
				})
				rt := headrace.Transport(base, "", headrace.Within(l), headrace.With(guard.Policy{Retry: twice()}))
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, secretURL, c.body)
				require.NoError(t, err)
				req.Header.Set("Content-Type", c.kind)
				began := time.Now()
				_, err = rt.RoundTrip(req) //nolint:bodyclose // there is none
				assert.ErrorContains(t, err, "no response in the 10m0s")
				took := 2 * (c.took + 10*time.Minute)
				if c.took > pieces*every { // the second attempt has what was kept
					took -= 3 * time.Hour
				}
				assert.Equal(t, took, time.Since(began).Truncate(time.Second))
				assert.Len(t, b.ended(), 2)
			})
		})
	}
}

// A base that reports when it has written a request is believed: that may be long after
// it has read a short body, and no Read is watched then.
func TestTheFirstByteIsWaitedForFromWhenTheRequestIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := limiter(t)
		known := false
		base := tripper(func(r *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, r.Body)
			if known {
				time.Sleep(time.Minute)
			}
			httptrace.ContextClientTrace(r.Context()).WroteRequest(httptrace.WroteRequestInfo{Err: err})
			if known {
				return silent(r)
			}
			return answer(http.StatusOK, "", "{}"), nil
		})
		c := &http.Client{Transport: headrace.Transport(base, "", headrace.Within(l), headrace.With(guard.Policy{Retry: twice()}))}
		read(t, post(t, c, secretURL, `{}`)) //nolint:bodyclose // read does
		known = true
		wrote := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { wrote++ }})
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, secretURL, strings.NewReader(`{}`))
		require.NoError(t, err)
		began := time.Now()
		_, err = c.Do(req) //nolint:bodyclose // there is none
		assert.ErrorContains(t, err, "no response in the 10m0s")
		assert.Equal(t, 11*time.Minute, time.Since(began).Truncate(time.Second))
		assert.Equal(t, 1, wrote, "the caller's own hook")
	})
}

// written counts the writes on a connection.
type written struct {
	net.Conn

	writes atomic.Int32
}

func (w *written) Write(p []byte) (int, error) {
	w.writes.Add(1)
	return w.Conn.Write(p)
}

// A short body is sent in one packet with the header, as net/http does for a body that it knows to
// be in memory. A long one is watched while it is sent.
func TestAShortRequestIsWrittenAtOnce(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		_, _ = w.Write(text)
	}))
	defer server.Close()
	for name, c := range map[string]struct {
		body string
		once bool
	}{
		"short": {`{"model":"m"}`, true},
		"long":  {`"` + strings.Repeat("x", 64<<10) + `"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			var conn written
			base := &http.Transport{DialContext: func(ctx context.Context, network, address string) (_ net.Conn, err error) {
				conn.Conn, err = new(net.Dialer).DialContext(ctx, network, address)
				return &conn, err
			}}
			defer base.CloseIdleConnections()
			l, _ := limiter(t)
			resp := post(t, &http.Client{Transport: headrace.Transport(base, "", headrace.Within(l))}, server.URL, c.body) //nolint:bodyclose // read does
			assert.Equal(t, c.body, read(t, resp))
			assert.Equal(t, c.once, conn.writes.Load() == 1)
		})
	}
}

// The context of an attempt lives as long as its response, and there is no bound on
// how long a stream takes.
func TestNoBoundAfterTheFirstByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := limiter(t)
		var ctx context.Context
		base := tripper(func(r *http.Request) (*http.Response, error) {
			ctx = r.Context()
			resp := dripping(answer(http.StatusOK, "", ""), strings.Repeat("data: {}\n\n", 10))
			resp.Header.Set("Content-Type", "text/event-stream")
			return resp, nil
		})
		rt := headrace.Transport(base, "", headrace.Within(l), headrace.WithFirstByte(time.Second))
		resp := post(t, &http.Client{Transport: rt}, secretURL, `{}`) //nolint:bodyclose // read does
		read(t, resp)
		assert.Error(t, ctx.Err(), "it is released")
		assert.Equal(t, []adaptive.Verdict{adaptive.OK}, b.verdicts())
	})
}

// Two bodies are not wrapped: that of a 101, because the caller writes to it, and
// http.NoBody, because callers test for that value.
func TestFirstByteOfAResponseWithoutABodyToRead(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   io.ReadCloser
	}{
		"101": {http.StatusSwitchingProtocols, io.NopCloser(strings.NewReader("connection"))},
		"200": {http.StatusOK, http.NoBody},
		"503": {http.StatusServiceUnavailable, http.NoBody},
		"nil": {http.StatusOK, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := limiter(t)
			var ctx context.Context
			base := tripper(func(r *http.Request) (*http.Response, error) {
				ctx = r.Context()
				return &http.Response{StatusCode: c.status, Body: c.body}, nil
			})
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, secretURL, http.NoBody)
			resp, err := headrace.Transport(base, "", headrace.Within(l)).RoundTrip(req) //nolint:bodyclose // there is none
			require.NoError(t, err)
			assert.Equal(t, c.body, resp.Body)
			assert.Error(t, ctx.Err(), "it is released")
		})
	}
}

// A base that ignores its context returns a response too late.
func TestAResponseAfterTheBoundIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := limiter(t)
		body := &closer{Reader: http.NoBody}
		base := tripper(func(*http.Request) (*http.Response, error) {
			time.Sleep(time.Minute)
			return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
		})
		rt := headrace.Transport(base, "", headrace.Within(l), headrace.WithFirstByte(time.Second))
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, secretURL, http.NoBody)
		_, err := rt.RoundTrip(req) //nolint:bodyclose // there is none
		require.ErrorContains(t, err, "no response in the 1s")
		assert.True(t, body.closed.Load())
	})
}

func TestTheContextOfAFailedAttemptIsReleased(t *testing.T) {
	l, _ := limiter(t)
	var ctx context.Context
	base := tripper(func(r *http.Request) (*http.Response, error) {
		ctx = r.Context()
		return nil, errors.New("refused")
	})
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, secretURL, http.NoBody)
	_, err := headrace.Transport(base, "", headrace.Within(l)).RoundTrip(req) //nolint:bodyclose // there is none
	require.ErrorContains(t, err, "refused")
	assert.Error(t, ctx.Err())
}

func TestWithFirstByteNegative(t *testing.T) {
	_, err := headrace.Transport(nil, "", headrace.WithFirstByte(-1)).RoundTrip(httptest.NewRequest(http.MethodGet, "http://a.example", http.NoBody)) //nolint:bodyclose // there is none
	field, ok := errors.AsType[*fault.FieldError](err)
	require.True(t, ok)
	assert.Equal(t, "WithFirstByte", field.Field)
}
