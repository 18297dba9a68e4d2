package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/ended"
)

// Every case is one attempt, from its begin on, under the timeouts of limits.
func TestWatch(t *testing.T) {
	limits := Timeouts{Header: 12 * time.Second, BodyIdle: 10 * time.Second, Call: 25 * time.Second}
	read := func(a *attempt, d time.Duration) {
		a.reading.Store(int64(a.call.client.watch.now()))
		time.Sleep(d)
		a.reading.Store(0)
	}
	sent := func(a *attempt) { a.onSent(httptrace.WroteRequestInfo{}) }
	for _, tc := range []struct {
		name   string
		limits Timeouts
		use    func(a *attempt)
		at     time.Duration // 0: never
		why    string
	}{
		{"the whole", limits, func(*attempt) {}, 25 * time.Second, "Timeouts.Call"},
		{"a header that does not come", limits, func(a *attempt) {
			time.Sleep(7 * time.Second)
			sent(a)
		}, 19 * time.Second, "Timeouts.Header"},
		{"a header so late that the whole is over first", limits, func(a *attempt) {
			time.Sleep(14 * time.Second)
			sent(a)
		}, 25 * time.Second, "Timeouts.Call"},
		{"it could not be sent", limits, func(a *attempt) {
			a.onSent(httptrace.WroteRequestInfo{Err: io.EOF})
		}, 25 * time.Second, "Timeouts.Call"},
		{"sent again", limits, func(a *attempt) {
			sent(a)
			time.Sleep(11 * time.Second)
			a.onConn(httptrace.GotConnInfo{Reused: true})
			time.Sleep(2 * time.Second)
			a.reach(stepBody)
		}, 25 * time.Second, "Timeouts.Call"},
		{"a read that waits", limits, func(a *attempt) {
			a.reach(stepBody)
			read(a, time.Minute)
		}, 10 * time.Second, "Timeouts.BodyIdle"},
		{"a late word of having sent it does not matter", limits, func(a *attempt) {
			a.reach(stepBody)
			sent(a)
		}, 25 * time.Second, "Timeouts.Call"},
		{"the caller's own time does not count", limits, func(a *attempt) {
			a.reach(stepBody)
			read(a, 9*time.Second)
			time.Sleep(9 * time.Second)
			read(a, time.Minute)
		}, 25 * time.Second, "Timeouts.Call"},
		{"a piece begins anew", limits, func(a *attempt) {
			a.reach(stepBody)
			read(a, 9*time.Second)
			read(a, time.Minute)
		}, 19 * time.Second, "Timeouts.BodyIdle"},
		{"no bound to the whole", Timeouts{Header: time.Second, BodyIdle: time.Second, NoCall: true}, func(a *attempt) {
			time.Sleep(time.Hour)
			a.reach(stepBody)
			read(a, time.Millisecond)
		}, 0, ""},
		{"no bound to the whole, but to a read", Timeouts{Header: time.Second, BodyIdle: time.Second, NoCall: true}, func(a *attempt) {
			time.Sleep(time.Hour)
			a.reach(stepBody)
			read(a, time.Minute)
		}, time.Hour + time.Second, "Timeouts.BodyIdle"},
		{"ended", limits, func(a *attempt) { a.end(nil) }, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := watched(t, tc.limits)
				begun := time.Now()
				var at time.Duration
				context.AfterFunc(a.req.Context(), func() { at = time.Since(begun) })
				tc.use(a)
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				cause, expired := errors.AsType[*ended.LateError](context.Cause(a.req.Context()))
				require.Equal(t, tc.why != "", expired)
				if expired {
					assert.Equal(t, tc.at, at)
					assert.Equal(t, tc.why, cause.Setting)
				}
				a.end(nil)
				time.Sleep(time.Hour)
				synctest.Wait()
				assert.Empty(t, a.call.client.watch.live)
				assert.False(t, a.call.client.watch.armed, "no attempt and no timer is left")
			})
		})
	}
}

// watched is an attempt that was not sent.
func watched(t *testing.T, limits Timeouts) *attempt {
	t.Helper()
	client, err := New(Config{Timeouts: limits})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://h", http.NoBody)
	require.NoError(t, err)
	return newAttempt(newCall(client, req), req)
}

// One timer serves all: each of them is ended in its own time, whatever the others do.
func TestWatchManyAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := New(Config{Timeouts: Timeouts{Call: 10 * time.Second}})
		require.NoError(t, err)
		defer client.Close()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h", http.NoBody)
		require.NoError(t, err)
		begun := time.Now()
		var mu sync.Mutex
		late := make(map[int]time.Duration)
		for i := range 100 {
			a := newAttempt(newCall(client, req), req)
			context.AfterFunc(a.req.Context(), func() {
				mu.Lock()
				defer mu.Unlock()
				late[i] = time.Since(begun)
			})
			if i%3 == 0 {
				a.end(nil)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for i := range 100 {
			after := 10 * time.Second
			if i%3 == 0 {
				after = 0
			}
			assert.Equal(t, time.Duration(i)*time.Second+after, late[i])
		}
	})
}

func TestRedactURL(t *testing.T) {
	for from, want := range map[string]string{
		"https://h:8/p":                       "https://h:8/p",
		"https://u:p@h/p?a=b&c=&d#f":          "https://h/p?a=REDACTED&c=REDACTED&REDACTED",
		"https://h/a%2Fb?x=1;y=2":             "https://h/a%2Fb?x=REDACTED",
		"https://h/p?":                        "https://h/p",
		"mailto:somebody@example.com?key=abc": "mailto:REDACTED",
	} {
		u, err := url.Parse(from)
		require.NoError(t, err)
		assert.Equal(t, want, redactURL(u), from)
	}
	assert.Empty(t, redactURL(nil))
}

func TestScrub(t *testing.T) {
	req := &http.Request{
		URL:    &url.URL{RawQuery: "key=a%2Fbcd&loose&x=1", User: url.UserPassword("somebody", "pass")},
		Header: http.Header{"Authorization": {"Bearer token"}, "Accept": {"text/plain"}},
	}
	secrets := secretsOf(req)
	plain := errors.New("text/plain 1 abc")
	assert.Same(t, plain, scrub(plain, secrets), "nothing to hide")
	assert.NoError(t, scrub(nil, secrets))

	cause := errors.Join(errors.New("a%2Fbcd a/bcd loose somebody pass token"), context.Canceled)
	clean := scrub(cause, secrets)
	assert.Equal(t, strings.Repeat("REDACTED ", 5)+"REDACTED\ncontext canceled", clean.Error())
	assert.ErrorIs(t, clean, context.Canceled)
	assert.NoError(t, errors.Unwrap(clean), "the original is out of reach")
	assert.Len(t, scrub(errors.New(strings.Repeat("x", 5000)), nil).Error(), maxText+3)
}

// What the corpus does not make.
func TestClassifyTheRest(t *testing.T) {
	for _, tc := range []struct {
		phase Phase
		err   error
		want  Code
	}{
		{PhaseHeader, errors.New("something new"), CodeUnknown},
		{PhaseBody, errors.New("something new"), CodeUnknown},
		{PhaseSend, &ended.LateError{Setting: "Timeouts.Call", After: 1}, CodeHeaderTimeout},
		{PhasePrepare, &ended.LateError{Setting: "Timeouts.Call", After: 1}, CodeConnectTimeout},
		{PhasePrepare, errors.New("bad request"), CodeUnsent},
		{PhaseConnect, errors.New("Proxy Authentication Required"), CodeConnect},
		{PhaseHeader, streamError{Code: h2InadequateSecurity}, CodeTLS},
		{PhaseHeader, streamError{Code: h2Protocol}, CodeProtocol},
		{PhaseHeader, streamError{Code: 7}, CodeRead},
		{PhaseHeader, tls.AlertError(40), CodeTLS},
		{PhaseHeader, tls.RecordHeaderError{Msg: "no TLS"}, CodeTLS},
		{PhasePrepare, ErrClosed, CodeUnsent},
		{PhaseConnect, ErrClosed, CodeUnsent},
		{PhaseTLS, ErrClosed, CodeUnsent},
		{PhaseSend, ErrClosed, CodeRead},
		{PhaseBody, ErrClosed, CodeRead},
	} {
		assert.Equal(t, tc.want, classify(tc.phase, tc.err), "%s: %v", tc.phase, tc.err)
	}
}

func TestReachNeverGoesBack(t *testing.T) {
	var a attempt
	for s, want := range map[step]Phase{
		stepPrepare: PhasePrepare, stepConnect: PhaseConnect, stepTLS: PhaseTLS,
		stepSend: PhaseSend, stepHeader: PhaseHeader, stepBody: PhaseBody,
	} {
		assert.Equal(t, want, s.phase())
	}
	a.reach(stepHeader)
	a.reach(stepConnect)
	assert.Equal(t, PhaseHeader, a.phase())
}

func TestDefaults(t *testing.T) {
	c := Config{}.withDefaults()
	assert.Equal(t, Timeouts{
		Connect: 10 * time.Second, TLS: 10 * time.Second, Header: 5 * time.Minute, BodyIdle: 2 * time.Minute, Call: 10 * time.Minute,
	}, c.Timeouts)
	assert.Equal(t, Pool{MaxIdle: 128, MaxIdlePerHost: 64, Idle: 90 * time.Second}, c.Pool)
	assert.Equal(t, int64(64<<20), c.MaxRequest)
	assert.Equal(t, int64(64<<20), c.MaxResponse)
	assert.Equal(t, int64(1<<20), c.MaxHeader)
	assert.Equal(t, 3, Config{Pool: Pool{MaxIdle: 3}}.withDefaults().Pool.MaxIdlePerHost)
	assert.Equal(t, 200, Config{Pool: Pool{MaxIdlePerHost: 200}}.withDefaults().Pool.MaxIdle)
	assert.Zero(t, Config{Timeouts: Timeouts{NoCall: true}}.withDefaults().Timeouts.Call)
}

func TestTransportSettings(t *testing.T) {
	for _, tc := range []struct {
		config Config
		http2  bool
	}{{Config{}, true}, {Config{NoHTTP2: true}, false}} {
		tr := newTransport(tc.config.withDefaults(), newConnections(time.Minute))
		assert.Equal(t, tc.http2, tr.Protocols.HTTP2())
		assert.True(t, tr.Protocols.HTTP1())
		assert.Equal(t, tc.http2, tr.ForceAttemptHTTP2)
		assert.Equal(t, uint16(0x0303), tr.TLSClientConfig.MinVersion)
		assert.Equal(t, 15*time.Second, tr.HTTP2.SendPingTimeout)
		assert.Equal(t, 5*time.Second, tr.HTTP2.PingTimeout)
		proxy, err := tr.Proxy(&http.Request{URL: &url.URL{Host: "h"}})
		assert.NoError(t, err)
		assert.Nil(t, proxy)
	}
}
