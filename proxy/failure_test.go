package proxy_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/freeport"
	"github.com/headrace/headrace/proxy"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// once does not retry, which takes time.
var once = guard.Policy{Retry: &retry.Policy{MaxAttempts: 1}}

// shaped are upstreams at the same host with different shapes of errors.
func shaped(url string) map[string]proxy.Upstream {
	return map[string]proxy.Upstream{"openai": {URL: url}, "anthropic": {URL: url}, "gemini": {URL: url}, "up": {URL: url}}
}

func TestErrorsHaveTheShapeOfTheProvider(t *testing.T) {
	refused, err := freeport.Address(t.Context())
	require.NoError(t, err)
	s := before(t, proxy.Config{Policy: once, Upstreams: shaped("http://" + refused)})

	for name, want := range map[string]string{
		"openai":    `{"error":{"message":M,"type":"headrace_error","param":null,"code":"headrace_upstream_unreachable"}}`,
		"up":        `{"error":{"message":M,"type":"headrace_error","param":null,"code":"headrace_upstream_unreachable"}}`,
		"anthropic": `{"type":"error","error":{"type":"api_error","message":M,"code":"headrace_upstream_unreachable"}}`,
		"gemini": `{"error":{"code":502,"message":M,"status":"UNAVAILABLE","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo",` +
			`"reason":"HEADRACE_UPSTREAM_UNREACHABLE","domain":"headrace"}]}}`,
	} {
		got := s.do(t, s.request(t, http.MethodPost, "/"+name+"/v1", `{}`))
		message := "headrace: " + name + " cannot be reached at " + refused +
			": the connection was refused or there is no route. Check the network, and the URL of the upstream"
		quoted, _ := json.Marshal(message)
		assert.Equal(t, http.StatusBadGateway, got.status)
		assert.JSONEq(t, strings.Replace(want, ":M,", ":"+string(quoted)+",", 1), got.body)
		assert.Equal(t, "headrace_upstream_unreachable", got.header.Get("X-Headrace-Error"))
		assert.Equal(t, "true", got.header.Get("X-Should-Retry"))
		assert.Equal(t, "application/json", got.header.Get("Content-Type"))
		assert.NotEmpty(t, got.header.Get("X-Headrace-Waited"))
	}
	assert.EqualValues(t, 4, s.proxy.Stats().Errors[proxy.CodeUnreachable])
}

func TestAnUpstreamThatDoesNotSpeakHTTP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer func() { _ = l.Close() }()
	wg.Go(func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		_, _ = c.Read(make([]byte, 1<<10))
		_, _ = io.WriteString(c, "SSH-2.0-secret\r\n")
	})
	s := before(t, proxy.Config{Policy: once, Upstreams: shaped("http://" + l.Addr().String())})
	got := s.do(t, s.request(t, http.MethodPost, "/up/v1", `{}`))
	assert.Equal(t, http.StatusBadGateway, got.status)
	assert.Contains(t, got.body, "up was reached at "+l.Addr().String()+", but its response is not valid HTTP. Check the scheme, host and port in the URL of the upstream")
	assert.NotContains(t, got.body, "secret")
}

// blocking is an upstream with calls that end when open is closed.
func blocking(open chan struct{}) handler {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-open:
			_, _ = io.WriteString(w, "done")
		case <-r.Context().Done():
		}
	}
}

func TestAFullQueue(t *testing.T) {
	open := make(chan struct{})
	c := proxy.Config{MaxQueue: 2, Policy: guard.Policy{Limits: throttle.Limits{Concurrency: 1}}}
	inBubbleWith(t, c, func() handler { open = make(chan struct{}); return blocking(open) }, func(s *bubble) {
		t := s.t
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				got, err := s.do(s.request(t.Context(), "/up/v1", `{}`))
				assert.NoError(t, err)
				assert.Equal(t, "done", got.body)
			})
			synctest.Wait()
		}
		got := s.get(t, "/up/v1", `{}`)

		assert.Equal(t, http.StatusServiceUnavailable, got.status)
		assert.Equal(t, "headrace_queue_full", got.header.Get("X-Headrace-Error"))
		assert.Contains(t, got.body, "--max-queue")
		after, err := strconv.Atoi(got.header.Get("Retry-After"))
		require.NoError(t, err)
		assert.Equal(t, strconv.FormatBool(after <= 60), got.header.Get("X-Should-Retry"))
		assert.Equal(t, 2, s.proxy.Stats().Queues[0].Waiting)
		close(open)
		wg.Wait()
	})
}

func TestAWaitThatIsTooLong(t *testing.T) {
	c := proxy.Config{MaxWait: 90 * time.Second, Policy: guard.Policy{Limits: throttle.Limits{Concurrency: 1}}}
	var open chan struct{}
	inBubbleWith(t, c, func() handler { open = make(chan struct{}); return blocking(open) }, func(s *bubble) {
		t := s.t
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = s.do(s.request(ctx, "/up/v1", `{}`)) })
		synctest.Wait()
		began := time.Now()
		got := s.get(t, "/up/v1", `{}`)

		assert.Equal(t, http.StatusServiceUnavailable, got.status)
		assert.Equal(t, "headrace_wait_exceeded", got.header.Get("X-Headrace-Error"))
		assert.Equal(t, 90*time.Second, time.Since(began))
		assert.Equal(t, "90.000", got.header.Get("X-Headrace-Waited"))
		assert.Equal(t, "0", got.header.Get("X-Headrace-Attempts"))
		assert.Equal(t, "90", got.header.Get("Retry-After"))
		assert.Equal(t, "false", got.header.Get("X-Should-Retry"), "an SDK would not wait for so long")
		cancel()
		wg.Wait()
	})
}

func TestRefusalsAreHidden(t *testing.T) {
	calls := 0
	inBubble(t, proxy.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls <= 2 {
			w.Header().Set("Retry-After", "3")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`)
			return
		}
		_, _ = io.WriteString(w, "done")
	}, func(s *bubble) {
		t := s.t
		got := s.get(t, "/up/v1", `{}`)

		assert.Equal(t, "done", got.body)
		assert.Equal(t, "3", got.header.Get("X-Headrace-Attempts"))
		waited, err := strconv.ParseFloat(got.header.Get("X-Headrace-Waited"), 64)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, waited, 6.0)
		stats := s.proxy.Stats()
		assert.EqualValues(t, 2, stats.Refused)
		assert.EqualValues(t, 2, stats.Hidden)
		assert.EqualValues(t, 3, stats.Attempts)
		assert.EqualValues(t, 1, stats.Calls)
		assert.Zero(t, stats.Active)
	})
}

// refuse answers like a provider with a rate that is exceeded for d.
func refuse(w http.ResponseWriter, d time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(d/time.Second)))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = io.WriteString(w, `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`)
}

// MaxWait bounds the pauses after refusals, of all attempts together, but not the
// time that the attempts take.
func TestAWaitAfterRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		takes, pause, most time.Duration
		attempts           int
	}{
		"one long pause":                    {0, 50 * time.Second, 10 * time.Second, 1},
		"several pauses":                    {0, 5 * time.Second, 12 * time.Second, 3},
		"attempts that take longer than it": {20 * time.Second, 5 * time.Second, 12 * time.Second, 3},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, proxy.Config{MaxWait: c.most, Upstreams: shaped("http://up.test")}, func(w http.ResponseWriter, _ *http.Request) {
				time.Sleep(c.takes)
				refuse(w, c.pause)
			}, func(s *bubble) {
				t := s.t
				began := time.Now()
				got := s.get(t, "/anthropic/v1/messages", `{}`)

				assert.Equal(t, http.StatusServiceUnavailable, got.status, got.body)
				assert.Equal(t, "headrace_wait_exceeded", got.header.Get("X-Headrace-Error"))
				assert.Contains(t, got.body, `"type":"overloaded_error"`)
				assert.Equal(t, strconv.Itoa(c.attempts), got.header.Get("X-Headrace-Attempts"))
				assert.Equal(t, c.most+time.Duration(c.attempts)*c.takes, time.Since(began))
				assert.Equal(t, fmt.Sprintf("%.3f", c.most.Seconds()), got.header.Get("X-Headrace-Waited"))
				after, err := strconv.Atoi(got.header.Get("Retry-After"))
				require.NoError(t, err)
				left := c.pause*time.Duration(c.attempts) - c.most // of the last pause
				assert.GreaterOrEqual(t, after, int(left.Seconds()), "another call would wait for that")
				assert.LessOrEqual(t, after, max(int(left.Seconds())+5, int(c.most.Seconds())))
				stats := s.proxy.Stats()
				assert.EqualValues(t, c.attempts, stats.Hidden)
				assert.Zero(t, stats.Active)
			})
		})
	}
}

func TestAUsedUpQuota(t *testing.T) {
	const text = `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`
	inBubble(t, proxy.Config{Upstreams: shaped("http://up.test")}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, text)
	}, func(s *bubble) {
		t := s.t
		first, second := s.get(t, "/openai/v1", `{}`), s.get(t, "/openai/v1", `{}`)

		assert.Equal(t, text, first.body, "an answer of the provider is passed on as it is")
		assert.Empty(t, first.header.Get("X-Headrace-Error"))
		assert.Equal(t, http.StatusTooManyRequests, second.status)
		assert.Equal(t, "headrace_quota_exhausted", second.header.Get("X-Headrace-Error"))
		assert.Equal(t, "false", second.header.Get("X-Should-Retry"))
		stats := s.proxy.Stats()
		assert.EqualValues(t, 1, stats.Refused)
		assert.Zero(t, stats.Hidden)
	})
}

// A used-up quota is that of one credential, however the client is named.
func TestAUsedUpQuotaIsOfOneCredential(t *testing.T) {
	s := open(t, proxy.Config{Upstreams: map[string]proxy.Upstream{}}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") == "Bearer broke" {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":{"code":"insufficient_quota"}}`)
		}
	}))
	send := func(path, key string) reply {
		return s.do(t, s.request(t, http.MethodPost, path, `{}`, "Authorization", "Bearer "+key))
	}
	paths := []string{"/up/v1", "/c/one/up/v1"}
	send(paths[0], "broke")
	for _, path := range paths {
		assert.Equal(t, "headrace_quota_exhausted", send(path, "broke").header.Get("X-Headrace-Error"), path)
		assert.Equal(t, http.StatusOK, send(path, "rich").status, path)
	}
}

func TestAnUpstreamThatDoesNotAnswer(t *testing.T) {
	c := proxy.Config{Policy: guard.Policy{Timeout: 20 * time.Second}}
	inBubble(t, c, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(s *bubble) {
		t := s.t
		got := s.get(t, "/up/v1", `{}`)

		assert.Equal(t, http.StatusGatewayTimeout, got.status)
		assert.Equal(t, "headrace_upstream_timeout", got.header.Get("X-Headrace-Error"))
	})
}

func TestARequestThatNeverFits(t *testing.T) {
	c := proxy.Config{Policy: guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Minute).Of(throttle.Tokens)}}}}
	inBubble(t, c, func(http.ResponseWriter, *http.Request) {}, func(s *bubble) {
		t := s.t
		got := s.get(t, "/up/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"`+longText+`"}],"max_tokens":1000}`)

		assert.Equal(t, http.StatusBadRequest, got.status)
		assert.Equal(t, "headrace_never_fits", got.header.Get("X-Headrace-Error"))
		assert.Equal(t, "false", got.header.Get("X-Should-Retry"))
	})
}

const longText = "a text that is more than one token long, however it is counted"

// failing is an upstream that cannot be reached.
type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

func TestWhyAnUpstreamIsNotReached(t *testing.T) {
	for want, err := range map[string]error{
		"there is no such host":                   &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "secret.test", IsNotFound: true}},
		"the name lookup failed":                  &net.OpError{Op: "dial", Err: &net.DNSError{Err: "server misbehaving", Name: "secret.test"}},
		"the connection was refused":              &net.OpError{Op: "dial", Err: errors.New("secret")},
		"no connection could be made in time":     &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded},
		"Raise its limit on open files (ulimit":   &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)},
		"Raise its limit on open files":           &net.OpError{Op: "dial", Err: &net.DNSError{Err: "dial udp: too many open files", Name: "secret.test"}},
		"the connection broke":                    &net.OpError{Op: "read", Err: errors.New("secret")},
		"its certificate is not valid":            &tls.CertificateVerificationError{Err: errors.New("secret")},
		"but its response is not valid HTTP":      textproto.ProtocolError("secret"),
		"failed before there was an answer":       errors.New("secret"),
		"no response in the time that the policy": context.DeadlineExceeded,
	} {
		r, regErr := registry.New(registry.Config{})
		require.NoError(t, regErr)
		p, newErr := proxy.New(proxy.Config{Registry: r, Base: failing{err}, Policy: once, Upstreams: shaped("http://up.test")})
		require.NoError(t, newErr)
		w := httptest.NewRecorder()
		in := httptest.NewRequest(http.MethodPost, "/up/v1", strings.NewReader("{}"))
		in.Host = "localhost"
		p.ServeHTTP(w, in)

		assert.Contains(t, w.Body.String(), want)
		assert.NotContains(t, w.Body.String(), "secret")
		assert.GreaterOrEqual(t, w.Code, http.StatusBadGateway)
	}
}

// lost is a store that fails.
type lost struct {
	quota.Store

	err error
}

func (s *lost) Take(context.Context, quota.Request) (quota.Grant, error) { return quota.Grant{}, s.err }

// The outage of a store is not one of the upstream, which may be fine, however the store fails.
func TestAStoreThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		why   string
		after string
	}{
		"refuses": {&net.OpError{Op: "dial", Err: errors.New("secret")}, "the connection was refused", "1"},
		"is slow": {fmt.Errorf("secret: %w", context.DeadlineExceeded), "no usable response", "1"},
		"fails":   {errors.New("secret"), "no usable response", "1"},
		"rests":   {&breaker.OpenError{Breaker: "secret", RetryAfter: 7 * time.Second}, "no usable response", "7"},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			s := open(t, proxy.Config{Policy: guard.Policy{
				Name: "shared", Limits: throttle.Limits{Concurrency: 1}, Store: &lost{quota.NewMemoryStore(nil), c.err}, Retry: once.Retry,
			}}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
			got := s.do(t, s.request(t, http.MethodPost, "/up/v1", `{}`))

			assert.Equal(t, http.StatusServiceUnavailable, got.status)
			assert.Equal(t, string(proxy.CodeStore), got.header.Get("X-Headrace-Error"))
			assert.Equal(t, c.after, got.header.Get("Retry-After"))
			assert.Equal(t, "0", got.header.Get("X-Headrace-Attempts"))
			assert.Contains(t, got.body, c.why)
			assert.NotContains(t, got.body, "secret")
			assert.NotContains(t, got.body, "reached")
			assert.Zero(t, calls.Load())
		})
	}
}

// unanswered is an upstream that has no answer before the request's context ends.
type unanswered func(r *http.Request)

func (u unanswered) RoundTrip(r *http.Request) (*http.Response, error) {
	u(r)
	return nil, context.Cause(r.Context())
}

// What ends a request from outside, such as the base context of a server, is no answer.
func TestARequestThatIsCancelledHasNoAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := registry.New(registry.Config{})
	require.NoError(t, err)
	up := unanswered(func(r *http.Request) { cancel(); <-r.Context().Done() })
	p, err := proxy.New(proxy.Config{Registry: r, Base: up, Upstreams: shaped("http://up.test")})
	require.NoError(t, err)
	in := httptest.NewRequest(http.MethodPost, "/up/v1", strings.NewReader("{}")).WithContext(ctx)
	in.Host = "localhost"

	assert.PanicsWithValue(t, http.ErrAbortHandler, func() { p.ServeHTTP(httptest.NewRecorder(), in) })
}
