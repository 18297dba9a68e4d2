package sdktest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Case is an answer, and what a caller of the SDK gets for it.
type Case struct {
	Name   string
	Answer Answer
	Stream bool
	Limit  time.Duration // of the caller's patience; below 0: it has none from the beginning
	Bare   Outcome       // with a bare http.Client
	Ours   *Outcome      // with a Transport; nil: the same
}

// Conformance has each answer of a provider read by the SDK with a bare
// http.Client and with a Transport: those that all providers have, and others.
// What is expected was written by hand.
func (s Suite) Conformance(t *testing.T, others []Case) {
	t.Helper()
	for _, c := range append(s.cases(), others...) {
		t.Run(c.Name, func(t *testing.T) {
			if c.Ours == nil {
				c.Ours = &c.Bare
			}
			plain, plainErr := s.Once(t, c, bare)
			ours, oursErr := s.Once(t, c, s.Under)
			if plain != c.Bare {
				t.Errorf("without Transport: %+v, expected %+v: %v", plain, c.Bare, plainErr)
			}
			if ours != *c.Ours {
				t.Errorf("with Transport: %+v, expected %+v: %v", ours, *c.Ours, oursErr)
			}
			if c.Ours == &c.Bare && !alike(plainErr, oursErr) {
				t.Errorf("the same outcome, but %T without Transport and %T with it:\n%v\n%v", plainErr, oursErr, plainErr, oursErr)
			}
		})
	}
	t.Run("a reset", s.reset)
}

// alike says whether two errors are of one type and text.
func alike(a, b error) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && (a == nil || a.Error() == b.Error())
}

// Once makes the call of one case, in a bubble.
func (s Suite) Once(t *testing.T, c Case, over func(http.RoundTripper) http.RoundTripper) (o Outcome, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		base := Listen(t, counted(&calls, func(n int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Case", "conformance")
			c.Answer(n, w, r)
		}))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		switch {
		case c.Limit < 0:
			cancel()
		case c.Limit > 0:
			ctx, cancel = context.WithTimeout(ctx, c.Limit)
			defer cancel()
		}
		o, err = s.outcome(ctx, s.Program(over(base), URL), c.Stream)
		o.Calls = int(calls.Load())
		if o.Status >= 400 {
			s.whole(t, err)
		}
	})
	return o, err
}

// whole looks at what callers look at in an error: the request, the header, and the body.
func (s Suite) whole(t *testing.T, err error) {
	t.Helper()
	api := s.API(err)
	body, failed := io.ReadAll(api.Response.Body)
	if failed != nil {
		t.Errorf("the error's body: %v", failed)
	}
	if got := api.Response.Header.Get("X-Case"); got != "conformance" {
		t.Errorf("the error's header says %q", got)
	}
	if api.Request == nil || !strings.Contains(string(body), api.Raw) {
		t.Errorf("the error's request is %v, and its body %q has to contain %q", api.Request, body, api.Raw)
	}
}

// reset needs a true socket.
func (s Suite) reset(t *testing.T) {
	for _, over := range []func(http.RoundTripper) http.RoundTripper{bare, s.Under} {
		var calls atomic.Int64
		server := httptest.NewServer(counted(&calls, func(_ int, w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
		}))
		base := &http.Transport{}
		o, err := s.outcome(t.Context(), s.Program(over(base), server.URL), false)
		base.CloseIdleConnections()
		server.Close()
		if o.Calls = int(calls.Load()); o != (Outcome{Err: "reset", Calls: 1}) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
