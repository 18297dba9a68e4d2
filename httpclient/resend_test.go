package httpclient_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
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
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/retry"
)

// play is one thing that a fake wire does.
type play struct {
	status     int // 0: err
	header     string
	body       string
	err        error
	unread     bool // the body of the request is not looked at
	takes      time.Duration
	neverReads bool // and not even closed
}

// fake plays one after the other, and the last one for ever.
type fake struct {
	plays  []play
	begun  time.Time
	sent   []string        // the bodies
	at     []time.Duration // when
	bodies []*tracked      // of the answers
}

// tracked is a body that knows how much was read and whether it is closed.
type tracked struct {
	io.Reader
	read, closed atomic.Int64
	when         time.Time // it was closed
}

func (b *tracked) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read.Add(int64(n))
	return n, err
}

func (b *tracked) Close() error {
	b.closed.Add(1)
	b.when = time.Now()
	return nil
}

func (f *fake) RoundTrip(req *http.Request) (*http.Response, error) {
	if f.begun.IsZero() {
		f.begun = time.Now()
	}
	p := f.plays[min(len(f.sent), len(f.plays)-1)]
	f.at = append(f.at, time.Since(f.begun))
	var got []byte
	if req.Body != nil && !p.neverReads {
		if !p.unread {
			got, _ = io.ReadAll(req.Body)
		}
		_ = req.Body.Close()
	}
	f.sent = append(f.sent, string(got))
	p.trace(req)
	time.Sleep(p.takes)
	if p.status == 0 {
		return nil, p.err
	}
	body := &tracked{Reader: strings.NewReader(p.body)}
	f.bodies = append(f.bodies, body)
	resp := &http.Response{StatusCode: p.status, Header: http.Header{}, Body: body, Request: req}
	if name, value, ok := strings.Cut(p.header, ": "); ok {
		resp.Header.Set(name, value)
	}
	return resp, nil
}

// trace calls the hooks of httptrace as net/http does.
func (p play) trace(req *http.Request) {
	trace := httptrace.ContextClientTrace(req.Context())
	if trace == nil {
		return
	}
	dial, dialled := errors.AsType[*net.OpError](p.err)
	unconnected := dialled && dial.Op == "dial" || errors.As(p.err, new(*net.DNSError))
	if failed, ok := errors.AsType[*httpclient.Error](p.err); ok {
		if failed.Phase == httpclient.PhasePrepare {
			return
		}
		unconnected = failed.Phase == httpclient.PhaseConnect || failed.Phase == httpclient.PhaseTLS
	}
	trace.GetConn(req.URL.Host)
	if !unconnected {
		trace.GotConn(httptrace.GotConnInfo{})
	}
}

// exact is a policy without chance: 1 s, 2 s, 4 s and so on.
func exact(attempts int) retry.Policy {
	return retry.Policy{MaxAttempts: attempts, Initial: time.Second, NoJitter: true}
}

func failed(code httpclient.Code, phase httpclient.Phase) error {
	return &httpclient.Error{Code: code, Phase: phase, Service: "test"}
}

// kept is what resend keeps of a body without GetBody.
const kept = 3

// bodyOf makes a body that can be had again, or that is longer than what is kept.
func bodyOf(kind string, req *http.Request) {
	switch kind {
	case "":
	case "GetBody":
		req.Body = io.NopCloser(strings.NewReader("abc"))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("abc")), nil }
	case "short":
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader("abc")), 3
	case "chunked":
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader("abc")), -1
	case "once":
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader("abcd")), -1
	case "long":
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader("abc")), 1<<20+1
	default:
		panic(kind)
	}
}

func TestWhatATransportSendsAgain(t *testing.T) {
	const (
		connect = httpclient.PhaseConnect
		header  = httpclient.PhaseHeader
		prepare = httpclient.PhasePrepare
	)
	certificate := fmt.Errorf("%w: %w", failed(httpclient.CodeTLS, httpclient.PhaseTLS), &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}})
	for _, tc := range []struct {
		method, key, body string
		play              play
		again             bool
	}{
		// Answers that are none to be repeated.
		{"GET", "", "", play{status: 200}, false},
		{"GET", "", "", play{status: 200, header: "Retry-After: 1"}, false},
		{"GET", "", "", play{status: 301, header: "Retry-After: 1"}, false},
		{"GET", "", "", play{status: 400}, false},
		{"GET", "", "", play{status: 401, header: "Retry-After: 1"}, false},
		{"GET", "", "", play{status: 404}, false},
		{"GET", "", "", play{status: 409}, false},
		{"GET", "", "", play{status: 425}, false},

		// Refusals: any method.
		{"GET", "", "", play{status: 429}, true},
		{"POST", "", "", play{status: 429}, true},
		{"POST", "", "GetBody", play{status: 429}, true},
		{"POST", "", "short", play{status: 429, header: "Retry-After: 1"}, true},
		{"POST", "", "short", play{status: 429, header: "Retry-After: NaN"}, true},
		{"POST", "", "short", play{status: 429, header: "Retry-After: -1"}, true},
		{"POST", "", "chunked", play{status: 429}, true},
		{"POST", "", "once", play{status: 429}, false},
		{"POST", "k", "once", play{status: 429}, false},
		{"POST", "", "long", play{status: 429}, false},
		{"PATCH", "", "GetBody", play{status: 529}, true},
		{"POST", "", "GetBody", play{status: 503, header: "Retry-After: 0"}, true},
		{"POST", "", "GetBody", play{status: 503, header: "Retry-After-Ms: 10"}, true},
		{"POST", "", "once", play{status: 503, header: "Retry-After: 0"}, false},
		{"POST", "", "once", play{status: 429, unread: true}, true},

		// A 503 that does not say when is a failure.
		{"POST", "", "GetBody", play{status: 503}, false},
		{"POST", "", "GetBody", play{status: 503, header: "Retry-After: NaN"}, false},
		{"POST", "", "GetBody", play{status: 503, header: "Retry-After: inf"}, false},
		{"POST", "", "GetBody", play{status: 503, header: "Retry-After: -1"}, false},
		{"POST", "", "GetBody", play{status: 503, header: "Retry-After: soon"}, false},
		{"GET", "", "", play{status: 503, header: "Retry-After: NaN"}, true},

		// Failures: only what can do no harm twice.
		{"GET", "", "", play{status: 408}, true},
		{"HEAD", "", "", play{status: 500}, true},
		{"OPTIONS", "", "", play{status: 502}, true},
		{"TRACE", "", "", play{status: 503}, true},
		{"PUT", "", "short", play{status: 504}, true},
		{"DELETE", "", "", play{status: 500, header: "Retry-After: 1"}, true},
		{"", "", "", play{status: 500}, true},
		{"POST", "", "", play{status: 408}, false},
		{"POST", "", "GetBody", play{status: 500}, false},
		{"POST", "", "GetBody", play{status: 500, header: "Retry-After: 1"}, false},
		{"PATCH", "", "short", play{status: 502}, false},
		{"POST", "k", "GetBody", play{status: 500}, true},
		{"PATCH", "k", "short", play{status: 408}, true},
		{"POST", "k", "once", play{status: 500}, false},
		{"PUT", "", "once", play{status: 500}, false},
		{"PUT", "", "chunked", play{status: 500}, true},
		{"POST", "", "chunked", play{status: 500}, false},

		// Nothing was sent: any method.
		{"POST", "", "GetBody", play{err: failed(httpclient.CodeDNS, connect)}, true},
		{"POST", "", "short", play{err: failed(httpclient.CodeConnect, connect)}, true},
		{"POST", "", "once", play{err: failed(httpclient.CodeConnect, connect), unread: true}, true},
		{"POST", "", "once", play{err: failed(httpclient.CodeConnect, connect)}, false},
		{"POST", "", "", play{err: failed(httpclient.CodeConnectTimeout, connect)}, true},
		{"POST", "", "", play{err: failed(httpclient.CodeTLS, httpclient.PhaseTLS)}, true},
		{"POST", "", "", play{err: &net.OpError{Op: "dial", Err: io.EOF}}, true},
		{"POST", "", "", play{err: &net.DNSError{IsNotFound: true}}, true},
		{"GET", "", "", play{err: certificate}, false},

		// It may have been sent.
		{"POST", "", "GetBody", play{err: failed(httpclient.CodeRead, header)}, false},
		{"POST", "", "GetBody", play{err: failed(httpclient.CodeTLS, httpclient.PhaseSend)}, false},
		{"POST", "k", "GetBody", play{err: failed(httpclient.CodeRead, header)}, true},
		{"GET", "", "", play{err: failed(httpclient.CodeRead, header)}, true},
		{"GET", "", "", play{err: failed(httpclient.CodeHeaderTimeout, header)}, true},
		{"GET", "", "", play{err: failed(httpclient.CodeProtocol, header)}, true},
		{"GET", "", "", play{err: failed(httpclient.CodeUnknown, header)}, true},
		{"GET", "", "", play{err: io.EOF}, true},
		{"POST", "", "", play{err: io.EOF}, false},
		{"POST", "", "", play{err: &net.OpError{Op: "read", Err: io.EOF}}, false},

		// This side's own doing.
		{"GET", "", "", play{err: failed(httpclient.CodeUnsent, prepare)}, false},
		{"GET", "", "", play{err: failed(httpclient.CodeUnsent, header)}, false},
		{"GET", "", "", play{err: failed(httpclient.CodeDNS, prepare)}, false}, // Config.Sign asked for a token
		{"GET", "", "", play{err: failed(httpclient.CodeCanceled, header)}, false},
		{"GET", "", "", play{err: failed(httpclient.CodeBodyLimit, header)}, false},
		{"GET", "", "", play{err: failed(httpclient.CodeRedirect, header)}, false},
		{"GET", "", "", play{err: failed(httpclient.CodeStatus, header)}, false},
		{"GET", "", "", play{err: fmt.Errorf("x: %w", context.Canceled)}, false},
		{"GET", "", "", play{err: retry.Permanent(io.EOF)}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{plays: []play{tc.play, {status: 204}}}
			req := request(t, tc.method, "http://h.example/p", nil)
			req.Method = tc.method
			if tc.key != "" {
				req.Header.Set("Idempotency-Key", tc.key)
			}
			bodyOf(tc.body, req)
			resp, err := resend(exact(3))(f).RoundTrip(req)
			name := fmt.Sprintf("%s %s %s %+v", tc.method, tc.key, tc.body, tc.play)
			if !tc.again {
				assert.Len(t, f.sent, 1, name)
				assert.Zero(t, time.Since(f.begun), "it does not wait for nothing: "+name)
				assert.Equal(t, tc.play.err, err, name)
				if tc.play.status != 0 {
					require.NotNil(t, resp, name)
					assert.Equal(t, tc.play.status, resp.StatusCode, name)
					resp.Body.Close()
				}
				return
			}
			require.NoError(t, err, name)
			defer resp.Body.Close()
			assert.Equal(t, 204, resp.StatusCode, name)
			require.Len(t, f.sent, 2, name)
			switch tc.body {
			case "":
			case "once":
				assert.Equal(t, "abcd", f.sent[1], name)
			default:
				assert.Equal(t, "abc", f.sent[1], name)
			}
			assert.Same(t, req, resp.Request, name)
		})
	}
}

// Inside a Client it is the call's own error, and holds no secret.
func TestATransportThatIsCancelledInAClient(t *testing.T) {
	for reason, hit := range map[string]bool{"enough": true, "enough of " + canary: false} { // an error with a secret is only its text
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, func(c *httpclient.Config) {
				c.Wrap = []func(http.RoundTripper) http.RoundTripper{resend(exact(3))}
			})
			c.InMemory(says("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 20\r\nContent-Length: 4\r\n\r\nslow"))
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(errors.New(reason)) })
			req := request(t, "GET", "http://h.example/?key="+canary, nil).WithContext(ctx)
			_, err := c.Do(req) //nolint:bodyclose // there is none
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, hit, errors.As(err, new(*adaptive.RateLimitHit)))
			assert.NotContains(t, err.Error(), canary)
			failed, ok := errors.AsType[*httpclient.Error](err)
			require.True(t, ok)
			assert.Equal(t, httpclient.CodeCanceled, failed.Code)
			assert.NotEmpty(t, failed.ID)
			assert.Equal(t, 1, failed.Attempt)
		})
	}
}

// withRetry is a client that tries three times without waiting long.
func withRetry(c *httpclient.Config) {
	c.Wrap = append(c.Wrap, resend(retry.Policy{Initial: 1, NoJitter: true}))
}

// Against real HTTP: every attempt counts, and three of them need one connection.
func TestATransportOnTheWire(t *testing.T) {
	var connections, answered atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		assert.Equal(t, "abc", string(body))
		if answered.Add(1) < 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, strings.Repeat("x", 5000))
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	for _, kind := range []string{"GetBody", "short"} {
		answered.Store(0)
		var told requests
		c := newClient(t, func(c *httpclient.Config) { withRetry(c); c.Observer = &told })
		req := request(t, "POST", s.URL, nil)
		bodyOf(kind, req)
		req.ContentLength = 3
		before := connections.Load()
		do(t, c, req)
		e := told.one(t)
		assert.Equal(t, 3, e.Attempt)
		assert.Equal(t, 200, e.Request.Status)
		assert.Equal(t, int64(3), e.Request.Sent)
		assert.True(t, e.Request.Reused)
		assert.Equal(t, int64(1), connections.Load()-before)
	}
}

func TestTheLastAttemptIsTold(t *testing.T) {
	var told requests
	c := newClient(t, func(c *httpclient.Config) { withRetry(c); c.Observer = &told })
	err := get(t, c, "http://127.0.0.1:1/?key=canary")
	last := failure(t, err)
	assert.Equal(t, httpclient.CodeConnect, last.Code)
	assert.Equal(t, 3, last.Attempt)
	assert.Equal(t, 3, told.one(t).Attempt)
	assert.NotContains(t, err.Error(), "canary")
}

// net/http sends some requests twice by itself: those count too.
func TestWhatNetHTTPSendsIsCounted(t *testing.T) {
	var seen atomic.Int64
	address := listen(t, func(c net.Conn) {
		for r := bufio.NewReader(c); ; {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			switch seen.Add(1) {
			case 2: // on a connection that was used before
				return
			case 3:
				_, _ = io.WriteString(c, "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")
			default:
				_, _ = io.WriteString(c, ok+"Content-Length: 0\r\n\r\n")
			}
		}
	})
	var told requests
	c := newClient(t, func(c *httpclient.Config) { withRetry(c); c.Observer = &told })
	do(t, c, request(t, "GET", "http://"+address, nil))
	do(t, c, request(t, "GET", "http://"+address, nil))
	require.Len(t, told.all, 2)
	assert.Equal(t, 1, told.all[0].Attempt)
	assert.Equal(t, 3, told.all[1].Attempt, "dropped, then 500, then 200")
}

func TestThisSidesErrorsAreNotSentAgain(t *testing.T) {
	var signed atomic.Int64
	for name, tc := range map[string]struct {
		config func(*httpclient.Config)
		sign   int64
	}{
		"Config.Sign": {func(c *httpclient.Config) {
			c.Sign = func(*http.Request) error { signed.Add(1); return errors.New("no key") }
		}, 1},
		"Config.Sign that asks for a token": {func(c *httpclient.Config) {
			c.Sign = func(*http.Request) error { signed.Add(1); return &net.DNSError{Name: "token.example"} }
		}, 1},
		"MaxRequest": {func(c *httpclient.Config) { c.MaxRequest = 1 }, 0},
	} {
		signed.Store(0)
		c := newClient(t, func(c *httpclient.Config) { withRetry(c); tc.config(c) })
		resp, err := c.Do(request(t, "PUT", "http://127.0.0.1:1/", strings.NewReader("abc")))
		if err == nil {
			resp.Body.Close()
		}
		assert.Zero(t, failure(t, err).Attempt, name)
		assert.Equal(t, tc.sign, signed.Load(), name)
	}
}

func TestAnOpenBreakerIsLeftAlone(t *testing.T) {
	asked := 0
	c := newClient(t, func(c *httpclient.Config) {
		b, err := breaker.New(breaker.Config{Failures: 1})
		require.NoError(t, err)
		require.Error(t, b.Do(t.Context(), func(context.Context) error { return io.EOF }))
		c.Breaker = b
		withRetry(c)
		c.Wrap = append(c.Wrap, func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				asked++
				return next.RoundTrip(r)
			})
		})
	})
	err := get(t, c, "http://127.0.0.1:1/")
	assert.ErrorIs(t, err, httpclient.CodeUnsent)
	assert.Equal(t, 1, asked)
}

// A closed client is not asked again.
func TestAClosedClientIsNotAskedAgain(t *testing.T) {
	asked := 0
	var c *httpclient.Client
	c = newClient(t, func(config *httpclient.Config) {
		withRetry(config)
		config.Wrap = append(config.Wrap, func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				asked++
				c.Close()
				return next.RoundTrip(r)
			})
		})
	})
	err := get(t, c, "http://127.0.0.1:1/")
	assert.ErrorIs(t, err, httpclient.ErrClosed)
	assert.Equal(t, 1, asked)
}

// resend is for Config.Wrap: a transport of its own, with this policy.
func resend(p retry.Policy) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		r, err := registry.New(registry.Config{})
		if err != nil {
			panic(err)
		}
		return headrace.Transport(next, "", headrace.WithRegistry(r), headrace.With(guard.Policy{Retry: &p}), headrace.WithResend(kept))
	}
}

type noMore struct{ err error }

func (f noMore) Read([]byte) (int, error) { return 0, f.err }
