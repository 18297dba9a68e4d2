package headrace_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/pipenet"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// net/http retries a request by itself if its reused connection breaks during
// the request, and the provider has counted both.
func TestAHiddenResendIsCharged(t *testing.T) {
	l, b := limiter(t)
	var n atomic.Int64
	url, client := serve(t, l, presets.OpenAITier1, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) == 2 {
			c, _, err := http.NewResponseController(w).Hijack()
			if assert.NoError(t, err) {
				_ = c.Close()
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"usage":{"prompt_tokens":3,"total_tokens":3}}`)
	})
	for range 2 {
		resp, err := client.Get(url)
		require.NoError(t, err)
		read(t, resp)
	}
	ends := b.ended()
	require.Len(t, ends, 2)
	assert.EqualValues(t, 1, ends[0].Used.Requests)
	assert.EqualValues(t, 2, ends[1].Used.Requests)
	assert.EqualValues(t, 3, ends[1].Used.Tokens)
	assert.EqualValues(t, 3, n.Load())
}

// A connection that could not be made costs nothing, and harms nothing.
func TestAConnectionThatIsRefused(t *testing.T) {
	for name, body := range map[string]io.Reader{"with GetBody": strings.NewReader("{}"), "a stream": io.MultiReader(strings.NewReader("{}"))} {
		t.Run(name, func(t *testing.T) {
			l, b := limiter(t)
			dials := 0
			base := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				dials++
				return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
			}}
			tr := under(base, presets.OpenAITier1, l,
				guard.Policy{Retry: &retry.Policy{MaxAttempts: 4, Initial: time.Nanosecond}})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://api.openai.com/", body)
			require.NoError(t, err)
			_, err = tr.RoundTrip(req) //nolint:bodyclose // there is none
			assert.ErrorContains(t, err, "refused")
			assert.Equal(t, 4, dials)
			assert.Zero(t, l.Stats().InFlight)
			for _, end := range b.ended() {
				assert.Equal(t, adaptive.Unsent, end.Verdict)
			}
		})
	}
}

// A provider that cannot be reached opens the breaker, unless the caller has given up. What is never sent says nothing about it.
func TestConnectionsThatFailOpenTheBreaker(t *testing.T) {
	for name, c := range map[string]struct {
		url   string
		dial  func(ended <-chan struct{}, cancel func()) error
		opens bool
	}{
		"refused": {"http://api.openai.com/", func(<-chan struct{}, func()) error { return errors.New("refused") }, true},
		"no such host": {"http://api.openai.com/", func(<-chan struct{}, func()) error {
			return &net.DNSError{Err: "no such host", IsNotFound: true}
		}, true},
		"longer than the timeout": {"http://api.openai.com/", func(ended <-chan struct{}, _ func()) error {
			<-ended // net/http goes on dialling
			return errors.New("late")
		}, true},
		"cancelled": {"http://api.openai.com/", func(_ <-chan struct{}, cancel func()) error {
			cancel()
			return errors.New("refused")
		}, false},
		"no file is left for a connection": {"http://api.openai.com/", func(<-chan struct{}, func()) error {
			return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}
		}, false},
		"another scheme": {"foo://api.openai.com/", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, err := guard.New(guard.Policy{
					Breaker: &breaker.Config{Failures: 1}, Retry: &retry.Policy{MaxAttempts: 1}, Timeout: time.Second,
				})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan struct{})
				defer close(ended)
				base := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
					httptrace.ContextClientTrace(ctx).ConnectStart(network, address) // as a net.Dialer does
					return nil, c.dial(ended, cancel)
				}}
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, http.NoBody)
				require.NoError(t, err)
				_, err = headrace.Transport(base, "", headrace.Within(g)).RoundTrip(req) //nolint:bodyclose // there is none
				require.Error(t, err)
				err = g.Try(t.Context(), throttle.Cost{}, func(context.Context) error { return nil })
				assert.Equal(t, c.opens, errors.Is(err, breaker.ErrOpen))
			})
		})
	}
}

// A request that waits for one of the connections that MaxConnsPerHost allows, until its deadline, says nothing about the provider.
func TestAWaitForAFreeConnectionDoesNotOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := guard.New(guard.Policy{Breaker: &breaker.Config{Failures: 1}, Retry: &retry.Policy{MaxAttempts: 1}})
		require.NoError(t, err)
		l := pipenet.Listen()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(10 * time.Second)
			_, _ = io.WriteString(w, "{}")
		}), ReadHeaderTimeout: time.Minute}
		go func() { _ = server.Serve(l) }()
		base := &http.Transport{DialContext: l.Dial, MaxConnsPerHost: 1}
		tr := headrace.Transport(base, "", headrace.Within(g))
		call := func(timeout time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.openai.com/", http.NoBody)
			if err != nil {
				return err
			}
			resp, err := tr.RoundTrip(req)
			if err != nil {
				return err
			}
			return resp.Body.Close()
		}
		long := make(chan error)
		go func() { long <- call(time.Minute) }()
		synctest.Wait()
		require.ErrorIs(t, call(5*time.Second), context.DeadlineExceeded)
		assert.NoError(t, g.Try(t.Context(), throttle.Cost{}, func(context.Context) error { return nil }))
		require.NoError(t, <-long)
		base.CloseIdleConnections()
		require.NoError(t, server.Close())
	})
}

// A request body that fails is the failure of its caller, and says nothing about the provider.
func TestRequestBodiesThatFailDoNotOpenTheBreaker(t *testing.T) {
	down := errors.New("disk")
	body := func() io.ReadCloser {
		return io.NopCloser(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(down)))
	}
	for name, getBody := range map[string]func() (io.ReadCloser, error){
		"GetBody": func() (io.ReadCloser, error) { return body(), nil },
		"none":    nil,
	} {
		t.Run(name, func(t *testing.T) {
			g, err := guard.New(guard.Policy{Breaker: &breaker.Config{Failures: 1}, Retry: &retry.Policy{MaxAttempts: 1}})
			require.NoError(t, err)
			url, client := serve(t, g, "", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
			for range 2 {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, body())
				require.NoError(t, err)
				req.GetBody = getBody
				_, err = client.Do(req) //nolint:bodyclose // there is none
				require.ErrorIs(t, err, down)
			}
			read(t, post(t, client, url, "{}")) //nolint:bodyclose // read does
			assert.Zero(t, g.Stats().InFlight)
		})
	}
}

func TestSwitchingProtocols(t *testing.T) {
	l, b := limiter(t)
	url, client := serve(t, l, presets.OpenAITier1, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, rw, err := http.NewResponseController(w).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		defer func() { _ = c.Close() }()
		line, err := rw.ReadString('\n')
		assert.NoError(t, err)
		_, _ = c.Write([]byte(line))
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, []adaptive.Verdict{adaptive.OK}, b.verdicts(), "it may live for ever")
	conn, ok := resp.Body.(io.ReadWriteCloser)
	require.True(t, ok)
	_, err = io.WriteString(conn, "hello\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	assert.NoError(t, err)
	assert.Equal(t, "hello\n", line)
}

// Refusals are read to their end, so that connections are used again.
func TestRefusalsLeaveTheConnection(t *testing.T) {
	l, b := limiter(t)
	var connections atomic.Int64
	refused := 0
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refused++; refused <= 19 {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, strings.Repeat(" ", 40<<10))
		}
	}))
	s.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	base := &http.Transport{}
	client := &http.Client{Transport: under(base, presets.OpenAITier1, l)}
	defer client.CloseIdleConnections()
	assert.Empty(t, read(t, post(t, client, s.URL, `{}`))) //nolint:bodyclose // read does
	require.Len(t, b.ended(), 20)
	assert.EqualValues(t, 1, b.ended()[19].Used.Requests, "of each attempt its own")
	assert.EqualValues(t, 1, connections.Load())
}

type idle struct{ tripper }

func (idle) CloseIdleConnections() { panic("closed") }

func TestCloseIdleConnections(t *testing.T) {
	client := &http.Client{Transport: headrace.Transport(idle{}, presets.OpenAITier1)}
	assert.PanicsWithValue(t, "closed", client.CloseIdleConnections)
	client.Transport = headrace.Transport(tripper(nil), "")
	assert.NotPanics(t, client.CloseIdleConnections)
}

func TestAPanicOfTheBase(t *testing.T) {
	l, b := limiter(t)
	tr := under(tripper(func(*http.Request) (*http.Response, error) { panic("base") }), presets.OpenAITier1, l)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, secretURL, strings.NewReader("{}"))
	require.NoError(t, err)
	_, err = tr.RoundTrip(req) //nolint:bodyclose // there is none
	panicked, ok := errors.AsType[*fault.PanicError](err)
	require.True(t, ok)
	assert.Equal(t, "base", panicked.Value)
	assert.Equal(t, []adaptive.Verdict{adaptive.Transient}, b.verdicts())
	assert.Zero(t, l.Stats().InFlight)
}

// The timeouts of the base are of an attempt: waiting takes nothing from them.
func TestAWaitTakesNothingFromTheTimeoutsOfTheBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := limiter(t)
		base := &http.Transport{
			ResponseHeaderTimeout: time.Second,
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				go speak(far,
					"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n",
					"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
				return near, nil
			},
		}
		client := &http.Client{Transport: under(base, presets.OpenAITier1, l)}
		began := time.Now()
		resp := post(t, client, "http://api.openai.com/", `{}`) //nolint:bodyclose // read does
		assert.Equal(t, "{}", read(t, resp))
		assert.Equal(t, 60*time.Second+2*900*time.Millisecond, time.Since(began))
		assert.Len(t, b.ended(), 2)
		client.CloseIdleConnections()
	})
}

// speak answers one request after the other, each after 900 ms.
func speak(c net.Conn, answers ...string) {
	defer func() { _ = c.Close() }()
	from := bufio.NewReader(c)
	for _, text := range answers {
		req, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		<-time.NewTimer(900 * time.Millisecond).C
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
	_, _ = from.ReadByte() // until it is closed
}

// Whatever becomes of requests, no descriptor stays behind.
func TestDescriptors(t *testing.T) {
	count := func() int {
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("there is no /proc/self/fd")
		}
		return len(open)
	}
	before := count()
	l, b := limiter(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/cut":
			panic(http.ErrAbortHandler)
		case "/hangs":
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "/full":
			w.Header().Set("X-Should-Retry", "false")
			w.WriteHeader(529)
		}
	}))
	base := &http.Transport{MaxIdleConnsPerHost: 100}
	client := &http.Client{Transport: under(base, presets.AnthropicTier1, l)}
	const each = 25
	for i := range each {
		for _, path := range [...]string{"/", "/cut", "/hangs", "/full"} {
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, strings.NewReader(strconv.Itoa(i)))
			require.NoError(t, err)
			resp, err := client.Do(req)
			assert.Equal(t, path == "/cut", err != nil)
			if path == "/hangs" {
				cancel()
			}
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			cancel()
		}
	}
	b.await(4 * each)
	assert.Zero(t, l.Stats().InFlight)
	client.CloseIdleConnections()
	s.Close()
	assert.Less(t, count(), before+each)
}
