package headrace_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
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
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/retry"
)

const (
	chatURL   = "https://api.openai.com/v1/chat/completions"
	secretURL = "https://user:canary@api.openai.com/v1/chat/completions?key=canary"
)

// A rejected request is retried, however often, with its body, after the pause.
func TestARefusalIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := limiter(t)
		var bodies []string
		base := tripper(func(r *http.Request) (*http.Response, error) {
			text, _ := io.ReadAll(r.Body)
			r.Body.Close()
			if bodies = append(bodies, string(text)); len(bodies) < 5 {
				return answer(http.StatusTooManyRequests, "Retry-After: 7", `{}`), nil
			}
			return answer(http.StatusOK, "", `{}`), nil
		})
		c := &http.Client{Transport: under(base, presets.OpenAITier1, l)}
		began := time.Now()
		resp := post(t, c, secretURL, `{"model":"m"}`)
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		assert.Equal(t, "{}", read(t, resp))
		assert.Equal(t, []string{`{"model":"m"}`, `{"model":"m"}`, `{"model":"m"}`, `{"model":"m"}`, `{"model":"m"}`}, bodies)
		assert.Equal(t, 28*time.Second, time.Since(began))
		assert.Len(t, b.ended(), 5)
	})
}

// When waiting is given up the caller gets what the provider has said.
func TestWhatIsGivenUpIsReturnedAsItCame(t *testing.T) {
	for name, c := range map[string]struct {
		header  string
		policy  guard.Policy
		timeout time.Duration
		stream  bool // the body is too long to be had again
		sent    int
	}{
		"MaxWait":                 {header: "Retry-After: 7", policy: guard.Policy{MaxWait: 20 * time.Second}, sent: 3},
		"deadline":                {header: "Retry-After: 7", timeout: 10 * time.Second, sent: 2},
		"more than ten minutes":   {header: "Retry-After: 3600", sent: 1},
		"the body was too long":   {header: "Retry-After: 1", stream: true, sent: 1},
		"x-should-retry says not": {header: "X-Should-Retry: false", sent: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, b := limiter(t)
				base := tripper(func(r *http.Request) (*http.Response, error) {
					_, _ = io.Copy(io.Discard, r.Body)
					r.Body.Close()
					return answer(http.StatusTooManyRequests, c.header, `{"error":{"message":"no"}}`), nil
				})
				tr := under(base, presets.OpenAITier1, l, c.policy)
				ctx, cancel := context.WithCancel(t.Context())
				if c.timeout > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), c.timeout)
				}
				defer cancel()
				var in io.Reader = strings.NewReader(`{}`)
				if c.stream {
					in = io.MultiReader(strings.NewReader(strings.Repeat("x", 16<<20+1)))
				}
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, secretURL, in)
				require.NoError(t, err)
				resp, err := tr.RoundTrip(req)
				require.NoError(t, err)
				assert.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
				assert.Equal(t, `{"error":{"message":"no"}}`, read(t, resp))
				assert.Len(t, b.ended(), c.sent)
			})
		})
	}
}

func TestAUsedUpQuotaClosesTheKey(t *testing.T) {
	l, _ := limiter(t)
	sent := 0
	base := tripper(func(r *http.Request) (*http.Response, error) {
		sent++
		r.Body.Close()
		return answer(http.StatusTooManyRequests, "", `{"error":{"code":"insufficient_quota"}}`), nil
	})
	tr := under(base, presets.OpenAITier1, l)
	for range 3 {
		body := &closer{Reader: strings.NewReader(`{}`)}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, secretURL, body)
		require.NoError(t, err)
		resp, err := tr.RoundTrip(req)
		if err == nil {
			assert.Contains(t, read(t, resp), "insufficient_quota")
		} else {
			assert.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
			assert.NotContains(t, err.Error(), "canary")
		}
		assert.True(t, body.closed.Load())
	}
	assert.Equal(t, 1, sent)
}

type closer struct {
	io.Reader
	closed atomic.Bool
}

func (c *closer) Close() error { c.closed.Store(true); return nil }

// What was no refusal is tried again only where that can do no harm.
func TestRetries(t *testing.T) {
	for name, c := range map[string]struct {
		method, header string
		status         int
		policy         guard.Policy
		after          string // how long to wait, in milliseconds
		stream         int    // the length of a body without GetBody
		sent           int
	}{
		"GET 500":                 {method: http.MethodGet, status: 500, sent: 3},
		"PUT 408":                 {method: http.MethodPut, status: 408, sent: 3},
		"POST 500":                {method: http.MethodPost, status: 500, sent: 1},
		"POST, keyed":             {method: http.MethodPost, header: "Idempotency-Key", status: 502, sent: 3},
		"off":                     {method: http.MethodGet, status: 500, sent: 1, policy: guard.Policy{Retry: &retry.Policy{MaxAttempts: 1}}},
		"GET 500, in a long time": {method: http.MethodGet, status: 500, after: "61000", sent: 1},
		"PUT, a short stream":     {method: http.MethodPut, status: 500, stream: 2, sent: 3},
		"PUT, a long stream":      {method: http.MethodPut, status: 500, stream: 16<<20 + 1, sent: 1},
		"GET 404":                 {method: http.MethodGet, status: 404, sent: 1},
		"GET, broken":             {method: http.MethodGet, sent: 3},
		"POST, broken":            {method: http.MethodPost, sent: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, b := limiter(t)
				broken := errors.New("broken")
				base := tripper(func(r *http.Request) (*http.Response, error) {
					if c.status == 0 {
						return nil, broken
					}
					_, _ = io.Copy(io.Discard, r.Body)
					resp := answer(c.status, "", `{}`)
					resp.Request = r
					if c.after != "" {
						resp.Header.Set("Retry-After-Ms", c.after)
					}
					return resp, nil
				})
				tr := under(base, presets.OpenAITier1, l, c.policy)
				req, err := http.NewRequestWithContext(t.Context(), c.method, secretURL, http.NoBody)
				require.NoError(t, err)
				if c.stream > 0 {
					req.Body, req.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", c.stream))), -1
				}
				if c.header != "" {
					req.Header.Set(c.header, "k")
				}
				resp, err := tr.RoundTrip(req)
				if c.status == 0 {
					assert.ErrorIs(t, err, broken)
				} else {
					require.NoError(t, err)
					assert.Equal(t, c.status, resp.StatusCode)
					assert.Same(t, req, resp.Request, "the caller's own")
					assert.Equal(t, "{}", read(t, resp))
				}
				assert.Len(t, b.ended(), c.sent)
			})
		})
	}
}

// Limiters are shared by pool, and the configuration of the registry takes precedence.
func TestLimitersByPool(t *testing.T) {
	base := tripper(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			r.Body.Close()
		}
		return answer(http.StatusOK, "", `{}`), nil
	})
	reg, err := registry.New(registry.Config{})
	require.NoError(t, err)
	c := &http.Client{Transport: headrace.Transport(base, presets.OpenAITier1, headrace.WithRegistry(reg))}
	for _, model := range []string{"gpt-4o-mini", "gpt-4o-mini", "unheard-of", "unknown"} {
		read(t, post(t, c, "https://API.openai.com:443/v1/chat/completions", `{"messages":[{"model":"x"}],"model":"`+model+`"}`)) //nolint:bodyclose // read does
	}
	assert.Equal(t, []string{"openai/api.openai.com/tier1", "openai/api.openai.com/tier1:gpt-4o-mini"}, reg.Names())

	config, err := registry.Parse("openai: 100/s")
	require.NoError(t, err)
	reg, err = registry.New(config)
	require.NoError(t, err)
	c = &http.Client{Transport: headrace.Transport(base, presets.OpenAITier1, headrace.WithRegistry(reg))}
	read(t, post(t, c, "https://api.openai.com/v1/chat/completions", `{"model":"gpt-4o-mini"}`)) //nolint:bodyclose // read does
	assert.Equal(t, []string{"openai"}, reg.Names())
}

func TestMistakesAreTheErrorOfEveryRequest(t *testing.T) {
	tr := headrace.Transport(nil, "opnai/tier1", headrace.With(guard.Policy{MaxWait: -1}), nil, headrace.Within(nil),
		headrace.WithinOf(nil), headrace.WithRegistry(nil), headrace.WithService(""))
	body := &closer{Reader: strings.NewReader(`{}`)}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, secretURL, body)
	require.NoError(t, err)
	_, err = tr.RoundTrip(req) //nolint:bodyclose // there is none
	assert.ErrorContains(t, err, "opnai/tier1")
	for _, problem := range []string{"MaxWait", "Within", "WithinOf", "WithRegistry", "WithService", "opts[1]: nil"} {
		assert.ErrorContains(t, err, problem)
	}
	assert.True(t, body.closed.Load())
}

// Only the first retry of an SDK that is observed is reported. A first attempt is not a retry.
func TestRetriesOfTheSDKAreToldOnce(t *testing.T) {
	for name, c := range map[string]struct {
		counts string // in brackets: observed by the context
		opts   bool   // observed by the transport
		want   int
	}{
		"first attempts":  {"0 0", true, 0},
		"without a word":  {"- -", true, 0},
		"retries":         {"0 1 2", true, 1},
		"in the context":  {"1 [0] [1] [2]", false, 1},
		"nobody observes": {"1 2", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var told []event.Kind
			o := event.Func(func(e event.Event) { told = append(told, e.Kind) })
			l, _ := limiter(t)
			var policy guard.Policy
			if c.opts {
				policy.Observer = o
			}
			tr := under(fine(), presets.OpenAITier1, l, policy)
			for n := range strings.FieldsSeq(c.counts) {
				ctx := t.Context()
				if strings.HasPrefix(n, "[") {
					ctx = event.With(ctx, o)
				}
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, secretURL, http.NoBody)
				require.NoError(t, err)
				if n = strings.Trim(n, "[]"); n != "-" {
					req.Header.Set("X-Stainless-Retry-Count", n)
				}
				resp, err := tr.RoundTrip(req)
				require.NoError(t, err)
				read(t, resp)
			}
			assert.Equal(t, slices.Repeat([]event.Kind{headrace.SDKRetries}, c.want), append([]event.Kind{}, told...))
		})
	}
}

// An observer that does not return from the event of one request does not hold up others.
func TestAnObserverThatBlocksHoldsUpItsOwnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		returns := make(chan struct{})
		l, _ := limiter(t)
		tr := under(fine(), presets.OpenAITier1, l, guard.Policy{Observer: event.Func(func(e event.Event) {
			if e.Kind == headrace.SDKRetries {
				<-returns
			}
		})})
		done := 0
		send := func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, secretURL, http.NoBody)
			assert.NoError(t, err)
			req.Header.Set("X-Stainless-Retry-Count", "1")
			resp, err := tr.RoundTrip(req)
			if assert.NoError(t, err) {
				read(t, resp)
			}
			done++
		}
		go send()
		synctest.Wait()
		go send()
		synctest.Wait()
		assert.Equal(t, 1, done)
		close(returns)
		synctest.Wait()
		assert.Equal(t, 2, done)
	})
}

// What an attempt came to is forgotten when the next one has begun.
func TestAnErrorAfterARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := limiter(t)
		broken := errors.New("broken")
		tr := under(tripper(func(*http.Request) (*http.Response, error) {
			if len(b.ended()) > 0 {
				return nil, broken
			}
			return answer(http.StatusTooManyRequests, "", `{}`), nil
		}), presets.OpenAITier1, l)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, secretURL, http.NoBody)
		require.NoError(t, err)
		resp, err := tr.RoundTrip(req) //nolint:bodyclose // there is none
		assert.Nil(t, resp)
		assert.ErrorIs(t, err, broken)
	})
}

// If the quota is used up while a request waits for its retry, the error is the quota and not the rejection.
func TestAQuotaThatIsUsedUpMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := limiter(t)
		tr := under(tripper(func(*http.Request) (*http.Response, error) {
			return answer(http.StatusTooManyRequests, "Retry-After: 60", `{}`), nil
		}), presets.OpenAITier1, l)
		time.AfterFunc(time.Second, func() {
			l.Close(adaptive.ErrQuotaExhausted)
		})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, secretURL, http.NoBody)
		require.NoError(t, err)
		_, err = tr.RoundTrip(req) //nolint:bodyclose // there is none
		assert.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
	})
}
