package sdktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/httpclient"
)

// RetriesAreNoticed proves that a client which still retries by itself is
// reported once, by an event of the kind.
func (s Suite) RetriesAreNoticed(t *testing.T, kind event.Kind) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var told []event.Event
		o := event.Func(func(e event.Event) {
			if e.Kind == kind {
				told = append(told, e)
			}
		})
		call := s.Careless(&http.Client{Transport: s.Watched(Listen(t, Handler(s.Refuse(500))), o)}, URL)
		for range 2 {
			if _, _, err := call(t.Context(), false); err == nil {
				t.Error("an answer 500 was no error")
			}
		}
		if len(told) != 1 || told[0].Source != strings.TrimPrefix(URL, "http://") || !strings.Contains(told[0].Reason, "WithMaxRetries(0)") {
			t.Errorf("told: %+v", told)
		}
	})
}

// LimiterErrors proves that what the limiter itself says comes through the SDK.
func (s Suite) LimiterErrors(t *testing.T) {
	t.Helper()
	t.Run("quota", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			call := s.Program(s.Under(Listen(t, Handler(s.Spent))), URL)
			if _, _, err := call(t.Context(), false); s.API(err) == nil {
				t.Errorf("the provider's own refusal: %v", err)
			}
			_, _, err := call(t.Context(), false)
			if !errors.Is(err, adaptive.ErrQuotaExhausted) || s.API(err) != nil {
				t.Errorf("the next call is not sent: %v", err)
			}
		})
	})
	t.Run("a wait that is longer than the deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			call := s.Program(s.Under(Listen(t, Handler(s.Refuse(429, "Retry-After", "3600")))), URL)
			if _, _, err := call(t.Context(), false); err == nil {
				t.Error("nobody waits an hour")
			}
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, _, err := call(ctx, false)
			if hit, ok := errors.AsType[*adaptive.RateLimitHit](err); !ok || hit.RetryAfter != time.Hour {
				t.Errorf("not what the provider asked for: %v", err)
			}
			if waited := time.Since(began); waited != 0 {
				t.Errorf("it is told at once, not after %v", waited)
			}
		})
	})
}

// RedirectIsNotFollowed proves that httpclient goes nowhere with a key, and that
// the error says so.
func (s Suite) RedirectIsNotFollowed(t *testing.T) {
	t.Helper()
	var strayed atomic.Int64
	elsewhere := httptest.NewServer(counted(&strayed, Always(200, s.Hello)))
	defer elsewhere.Close()
	provider := httptest.NewServer(Handler(Redirect(elsewhere.URL)))
	defer provider.Close()
	safe := s.safe(t, nil, s.Under)
	_, _, err := s.Client(safe.Standard(), provider.URL)(t.Context(), false)
	if !errors.Is(err, httpclient.CodeRedirect) || strayed.Load() > 0 {
		t.Errorf("%d calls went elsewhere: %v", strayed.Load(), err)
	}
}

// safe is a client with a Transport in it.
func (s Suite) safe(t *testing.T, o event.Observer, over func(http.RoundTripper) http.RoundTripper) *httpclient.Client {
	t.Helper()
	c, err := httpclient.New(httpclient.Config{
		Service: s.Service, FailOnRedirect: true, Observer: o,
		Wrap: []func(http.RoundTripper) http.RoundTripper{over},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// KeyIsNeverTold proves that the key is in nothing that is reported, logged, printed or returned.
func (s Suite) KeyIsNeverTold(t *testing.T) {
	t.Helper()
	for name, answer := range map[string]Answer{
		"refused":     Once(s.Refuse(429, "Retry-After-Ms", "1"), Always(200, s.Hello)),
		"no money":    s.Spent,
		"failed":      s.Refuse(500),
		"wrong key":   s.Refuse(401),
		"cut":         Cut(s.Hello[:40]),
		"no answer":   Cut(""),
		"redirected":  Redirect("http://localhost:1/"),
		"wrong JSON":  Always(200, "{"),
		"answered":    Always(200, s.Hello),
		"no such tcp": nil,
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(Handler(answer))
			if answer == nil {
				server.Close()
			}
			defer server.Close()
			told := s.gossip(t, server.URL)
			if told == "" || strings.Contains(told, Canary) {
				t.Errorf("told, with the key or not at all: %q", told)
			}
		})
	}
}

// gossip is everything that can be observed about some calls.
func (s Suite) gossip(t *testing.T, url string) string {
	t.Helper()
	told := &record{}
	o := event.Slog(slog.New(slog.NewTextHandler(told, &slog.HandlerOptions{Level: slog.LevelDebug - 8})))
	watched := func(next http.RoundTripper) http.RoundTripper { return s.Watched(next, o) }
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	for _, by := range []*http.Client{{Transport: watched(base)}, s.safe(t, o, watched).Standard()} {
		for _, stream := range []bool{false, true} {
			_, _, err := s.Client(by, url)(event.With(t.Context(), o), stream)
			for ; err != nil; err = errors.Unwrap(err) {
				fmt.Fprintf(told, "%v %+v %q\n", err, err, err)
			}
		}
	}
	return told.String()
}

// record is a buffer for many writers.
type record struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

var _ io.Writer = (*record)(nil)

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}
