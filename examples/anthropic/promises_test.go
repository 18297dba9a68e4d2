package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/retry"
)

// watched is a Transport with limiters of its own that tells o everything.
func watched(t *testing.T, base http.RoundTripper, o event.Observer) http.RoundTripper {
	t.Helper()
	limiters, err := registry.New(registry.Config{}, registry.WithObserver(o))
	require.NoError(t, err)
	return headrace.Transport(base, presets.AnthropicStart, headrace.WithRegistry(limiters), headrace.WithObserver(o),
		headrace.WithRetry(retry.Policy{MaxAttempts: 1}))
}

// A client that was left to retry by itself is told once.
func TestSDKRetriesAreNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := listen(t, handler(refuse(500, "api_error")))
		var told []event.Event
		o := event.Func(func(e event.Event) {
			if e.Kind == headrace.SDKRetries {
				told = append(told, e)
			}
		})
		client := anthropic.NewClient(append(local("http://provider.test"),
			option.WithHTTPClient(&http.Client{Transport: watched(t, base, o)}))...)
		for range 2 {
			_, err := ask(t.Context(), client, false)
			require.Error(t, err)
		}
		require.Len(t, told, 1)
		require.Equal(t, "provider.test", told[0].Source)
		require.Contains(t, told[0].Reason, "WithMaxRetries(0)")
	})
}

// What the limiter itself says comes through the SDK.
func TestErrorsOfTheLimiter(t *testing.T) {
	t.Run("quota", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client := newClient(under(listen(t, handler(always(400, spent)))), local("http://provider.test")...)
			first, err := ask(t.Context(), client, false)
			require.Equal(t, outcome{Err: "api", Status: 400, Type: "invalid_request_error"}, first, err)
			_, err = ask(t.Context(), client, false)
			require.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
			var api *anthropic.Error
			require.NotErrorAs(t, err, &api, "it was not sent")
		})
	})
	t.Run("a wait that is longer than the deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client := newClient(under(listen(t, handler(refuse(429, "rate_limit_error", "Retry-After", "3600")))), local("http://provider.test")...)
			_, err := ask(t.Context(), client, false)
			require.Error(t, err)
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = ask(ctx, client, false)
			var hit *adaptive.RateLimitHit
			require.ErrorAs(t, err, &hit)
			require.Equal(t, time.Hour, hit.RetryAfter)
			require.Zero(t, time.Since(began), "it is told at once")
		})
	})
}

func handler(answer answering) http.Handler {
	var mu sync.Mutex
	n := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		n++
		nth := n
		mu.Unlock()
		answer(nth, w, r)
	})
}

// net/http strips a few fields at a redirect to another host, and X-Api-Key is
// none of them: a bare client gives the key away, and a Transport under it cannot
// know. With httpclient around nobody follows, and the error says so.
func TestRedirectKeepsTheKey(t *testing.T) {
	keys := make(chan string, 10)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("X-Api-Key")
		always(200, hello)(0, w, r)
	}))
	defer elsewhere.Close()
	provider := httptest.NewServer(handler(redirect(elsewhere.URL)))
	defer provider.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	for _, transport := range []http.RoundTripper{base, under(base)} {
		_, err := ask(t.Context(), newClient(transport, local(provider.URL)...), false)
		require.NoError(t, err)
		require.Equal(t, "none", <-keys)
	}
	safe, err := httpclient.New(httpclient.Config{
		Service: "anthropic", FailOnRedirect: true,
		Wrap: []func(http.RoundTripper) http.RoundTripper{under},
	})
	require.NoError(t, err)
	defer safe.Close()
	_, err = ask(t.Context(), anthropic.NewClient(append(local(provider.URL),
		option.WithHTTPClient(safe.Standard()), option.WithMaxRetries(0))...), false)
	require.ErrorIs(t, err, httpclient.CodeRedirect)
	require.Empty(t, keys)
}

// The SDK gives an answer that is not streamed ten minutes, and counts the wait
// for its turn: newClient gives it more.
func TestTheWaitIsNoTimeout(t *testing.T) {
	slow := func(n int, w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(3 * time.Minute)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
		always(200, hello)(n, w, r)
	}
	refused := once(refuse(429, "rate_limit_error", "Retry-After", "540"), slow)
	patient, err := caller(t, refused, false, 0, under)
	require.NoError(t, err)
	require.Equal(t, outcome{Text: "hello", Tokens: 4, Calls: 2}, patient)

	synctest.Test(t, func(t *testing.T) {
		client := anthropic.NewClient(append(local("http://provider.test"), option.WithMaxRetries(0),
			option.WithHTTPClient(&http.Client{Transport: under(listen(t, handler(refused)))}))...)
		_, err := ask(t.Context(), client, false)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// The key is in nothing that is told, logged, printed or returned.
func TestTheKeyIsNeverTold(t *testing.T) {
	for name, answer := range map[string]answering{
		"refused":     once(refuse(429, "rate_limit_error", "Retry-After-Ms", "1"), always(200, hello)),
		"no money":    always(400, spent),
		"failed":      refuse(500, "api_error"),
		"wrong key":   refuse(401, "authentication_error"),
		"cut":         cut(hello[:40]),
		"no answer":   cut(""),
		"redirected":  redirect("http://localhost:1/"),
		"wrong JSON":  always(200, "{"),
		"answered":    always(200, hello),
		"no such tcp": nil,
	} {
		t.Run(name, func(t *testing.T) {
			var told bytes.Buffer
			o := event.Slog(slog.New(slog.NewTextHandler(&locked{w: &told}, &slog.HandlerOptions{Level: slog.LevelDebug - 8})))
			server := httptest.NewServer(handler(answer))
			if answer == nil {
				server.Close()
			}
			defer server.Close()
			base := &http.Transport{}
			defer base.CloseIdleConnections()
			safe, err := httpclient.New(httpclient.Config{
				FailOnRedirect: true, Observer: o,
				Wrap: []func(http.RoundTripper) http.RoundTripper{
					func(next http.RoundTripper) http.RoundTripper { return watched(t, next, o) },
				},
			})
			require.NoError(t, err)
			defer safe.Close()
			for _, by := range []*http.Client{{Transport: watched(t, base, o)}, safe.Standard()} {
				client := anthropic.NewClient(
					option.WithoutEnvironmentDefaults(), option.WithBaseURL(server.URL), option.WithAPIKey(canary), option.WithHTTPClient(by), option.WithMaxRetries(0))
				for _, stream := range []bool{false, true} {
					_, err := ask(event.With(t.Context(), o), client, stream)
					for ; err != nil; err = errors.Unwrap(err) {
						fmt.Fprintf(&told, "%v %+v %q\n", err, err, err)
					}
				}
			}
			require.NotEmpty(t, told.String())
			require.NotContains(t, told.String(), canary)
		})
	}
}

// locked is a writer for many.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
