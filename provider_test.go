package headrace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/throttle"
)

// routes are the ways to ask a provider.
var routes = map[string]struct {
	preset     presets.ID
	path, body string
}{
	"chat": {presets.OpenAITier1, "/v1/chat/completions", `{"model":"gpt-4o","messages":[{"role":"user","content":"%s"}],"max_tokens":40}`},
	"stream": {
		presets.OpenAITier1, "/v1/chat/completions",
		`{"model":"gpt-4o","messages":[{"role":"user","content":"%s"}],"max_tokens":40,"stream":true,"stream_options":{"include_usage":true}}`,
	},
	"embeddings": {presets.OpenAITier1, "/v1/embeddings", `{"model":"text-embedding-3-small","input":["%s","more"]}`},
	"messages":   {presets.AnthropicStart, "/v1/messages", `{"model":"claude-sonnet-5","messages":[{"role":"user","content":"%s"}],"max_tokens":40}`},
	"messages, streamed": {
		presets.AnthropicStart, "/v1/messages",
		`{"model":"claude-sonnet-5","messages":[{"role":"user","content":"%s"}],"max_tokens":40,"stream":true}`,
	},
}

// ask sends a request under a key and returns what became of it.
func ask(ctx context.Context, rt http.RoundTripper, path, key, body string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.example.com"+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Client-Request-Id", key)
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// However small the hidden limits, 200 callers at once all get their answer, once.
func TestHiddenLimits(t *testing.T) {
	names := slices.Sorted(maps.Keys(routes))
	for i := range 2 * len(names) {
		name, headers := names[i/2], i%2 == 1
		r := routes[name]
		t.Run(fmt.Sprintf("%s, headers %t", name, headers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := providertest.New(providertest.Config{
					Limits: providertest.Limits{
						Concurrency: 6, Rate: providertest.Bucket{PerSecond: 10, Burst: 10},
						Tokens: providertest.Bucket{PerSecond: 20_000. / 60, Burst: 20_000}, OutputTokens: providertest.Bucket{PerSecond: 20_000. / 60, Burst: 20_000},
					},
					Latency: providertest.Fixed(300 * time.Millisecond), RetryAfter: providertest.RetryAfterSeconds, Headers: headers,
				})
				require.NoError(t, err)
				defer s.Close()
				rt := headrace.Transport(s.Transport(), r.preset, headrace.WithRegistry(emptyRegistry(t)))
				keys := make([]string, 200)
				var wg sync.WaitGroup
				for i := range keys {
					keys[i] = fmt.Sprintf("item %d", i)
					wg.Go(func() {
						status, err := ask(t.Context(), rt, r.path, keys[i], fmt.Sprintf(r.body, keys[i]))
						assert.NoError(t, err)
						assert.Equal(t, http.StatusOK, status)
					})
				}
				wg.Wait()
				ledger := s.Ledger()
				audit := ledger.Audit(func(yield func(string) bool) {
					for _, k := range keys {
						if !yield(k) {
							return
						}
					}
				})
				assert.True(t, audit.OK(), audit)
				// A preset of minutes begins with 32 calls at once, of which 26 exceed the cap.
				assert.Less(t, ledger.TooMany(), 30+26, "of %d", ledger.Arrivals)
				t.Logf("%d of %d refused", ledger.TooMany(), ledger.Arrivals)
			})
		})
	}
}

// What the limiter settles to is what the provider has charged.
func TestTokensAreTheProviders(t *testing.T) {
	for name, r := range routes {
		t.Run(name, func(t *testing.T) {
			s, err := providertest.New(providertest.Config{})
			require.NoError(t, err)
			defer s.Close()
			l, b := limiter(t)
			rt := under(s.Transport(), r.preset, l)
			for i := range 20 {
				_, err := ask(t.Context(), rt, r.path, "k", fmt.Sprintf(r.body, strings.Repeat("word ", i+1)))
				require.NoError(t, err)
			}
			b.await(20)
			var own throttle.Cost
			for _, end := range b.ended() {
				own.Requests += end.Used.Requests
				own.Tokens += end.Used.Of(throttle.Tokens)
				own.Input += end.Used.Input
				own.Output += end.Used.Output
			}
			var theirs throttle.Cost
			for a := range s.Ledger().All() {
				theirs.Requests++
				theirs.Tokens += int64(a.Used.Total)
				theirs.Input += int64(a.Used.Input)
				theirs.Output += int64(a.Used.Output)
			}
			assert.Equal(t, theirs, own)
		})
	}
}

// 529 is a refusal as 429 is.
func TestAProviderThatIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s, err := providertest.New(providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
			if n++; n <= 3 {
				return providertest.Overloaded()
			}
			return nil
		}})
		require.NoError(t, err)
		defer s.Close()
		l, b := limiter(t)
		r := routes["messages"]
		status, err := ask(t.Context(), under(s.Transport(), r.preset, l), r.path, "k", r.body)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, []adaptive.Verdict{adaptive.Overloaded, adaptive.Overloaded, adaptive.Overloaded, adaptive.OK}, b.verdicts())
	})
}

// A request that is cancelled while it waits returns the cause, and leaves nothing behind.
func TestWhoEndsWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		b.more.L = &b.mu
		l, err := guard.New(guard.Policy{Name: "test", Law: b, Limits: throttle.Limits{Concurrency: 1}})
		require.NoError(t, err)
		held := make(chan struct{})
		base := tripper(func(*http.Request) (*http.Response, error) {
			<-held
			return answer(http.StatusOK, "", `{}`), nil
		})
		rt := under(base, presets.OpenAITier1, l)
		ask := func(ctx context.Context, body io.Reader) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, secretURL, body)
			require.NoError(t, err)
			resp, err := rt.RoundTrip(req)
			if err == nil {
				resp.Body.Close()
			}
			return err
		}
		var wg sync.WaitGroup
		wg.Go(func() { assert.NoError(t, ask(t.Context(), strings.NewReader(`{}`))) })
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("no longer wanted")
		body := &closer{Reader: strings.NewReader(`{}`)}
		wg.Go(func() {
			err := ask(ctx, body)
			assert.ErrorIs(t, err, reason)
			assert.ErrorContains(t, err, "POST https://api.openai.com/v1/chat/completions")
			assert.NotContains(t, err.Error(), "canary")
			assert.True(t, body.closed.Load())
		})
		synctest.Wait()
		assert.Equal(t, 1, l.Stats().Waiting)
		cancel(reason)
		synctest.Wait()
		assert.Zero(t, l.Stats().Waiting)
		close(held)
		wg.Wait()
		assert.Zero(t, l.Stats().InFlight)
		assert.Len(t, b.ended(), 1)
	})
}

// No header, value of a query or user gets into an event, a log or an error of ours.
func TestNoSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		o := event.Slog(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		answers := []*http.Response{
			answer(429, "Retry-After: 1", `{"error":{"message":"canary"}}`),                               //nolint:bodyclose // the transport does
			answer(429, "X-Canary: canary", `{"error":{"code":"insufficient_quota","message":"canary"}}`), //nolint:bodyclose // likewise
		}
		rt := headrace.Transport(tripper(func(r *http.Request) (*http.Response, error) {
			r.Body.Close()
			next := answers[0]
			answers = answers[1:]
			return next, nil
		}), presets.OpenAITier1, headrace.WithRegistry(emptyRegistry(t)), headrace.With(guard.Policy{Observer: o}))
		for i := range 2 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, secretURL+"#canary", strings.NewReader(`{"user":"canary"}`))
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer canary")
			req.Header.Set("X-Stainless-Retry-Count", "1")
			resp, err := rt.RoundTrip(req)
			if i == 0 {
				require.NoError(t, err)
				assert.Contains(t, read(t, resp), "canary", "as it came")
				continue
			}
			require.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
			assert.NotContains(t, err.Error(), "canary")
			assert.NotContains(t, fmt.Sprintf("%+v", err), "canary")
		}
		assert.NotContains(t, log.String(), "canary")
		assert.Contains(t, log.String(), string(event.LimiterHit))
		assert.Contains(t, log.String(), string(event.LimiterClosed))
		assert.Contains(t, log.String(), string(headrace.SDKRetries))
	})
}
