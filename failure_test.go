package headrace_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
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
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// A request that is cancelled while it waits for its retry returns the cause, and the failure before it.
func TestWhoEndsWhileWaitingToGoAgain(t *testing.T) {
	for name, c := range map[string]struct {
		method   string
		status   int // 0: the base fails
		deadline time.Duration
		length   int // of the answer, at least
		hit      bool
	}{
		"after a refusal":          {method: http.MethodPost, status: 429, hit: true},
		"after a long refusal":     {method: http.MethodPost, status: 429, length: 100 << 10, hit: true},
		"after a failure":          {method: http.MethodGet, status: 500},
		"after a long failure":     {method: http.MethodGet, status: 500, length: 100 << 10},
		"after one without answer": {method: http.MethodGet},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, b := limiter(t)
				reason, broken := errors.New("no longer wanted"), errors.New("broken")
				var body *closer
				base := tripper(func(*http.Request) (*http.Response, error) {
					if c.status == 0 {
						return nil, broken
					}
					resp := answer(c.status, "Retry-After: 30", `{"error":{"message":"canary`+strings.Repeat("x", c.length)+`"}}`)
					body = &closer{Reader: resp.Body}
					resp.Body = body
					return resp, nil
				})
				ctx, cancel := context.WithCancelCause(t.Context())
				wait := time.Second
				if c.status == 0 { // the wait is that of the policy
					wait = time.Nanosecond
				}
				time.AfterFunc(wait, func() { cancel(reason) })
				req, err := http.NewRequestWithContext(ctx, c.method, secretURL, http.NoBody)
				require.NoError(t, err)
				began := time.Now()
				resp, err := under(base, presets.OpenAITier1, l).RoundTrip(req) //nolint:bodyclose // there is none
				assert.Nil(t, resp)
				assert.Equal(t, wait, time.Since(began))
				assert.ErrorIs(t, err, reason)
				assert.Equal(t, c.hit, errors.As(err, new(*adaptive.RateLimitHit)))
				assert.Equal(t, c.status == 0, errors.Is(err, broken))
				assert.NotContains(t, err.Error(), "canary")
				assert.Len(t, b.ended(), 1)
				if body != nil {
					assert.True(t, body.closed.Load())
				}
			})
		})
	}
}

// A failed request that could not go again before its deadline does not wait for it.
func TestADeadlineBeforeTheNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := limiter(t)
		base := tripper(func(*http.Request) (*http.Response, error) {
			return answer(http.StatusInternalServerError, "Retry-After: 30", `{}`), nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, secretURL, http.NoBody)
		require.NoError(t, err)
		began := time.Now()
		resp, err := under(base, presets.OpenAITier1, l).RoundTrip(req)
		require.NoError(t, err)
		assert.Equal(t, "{}", read(t, resp))
		assert.Zero(t, time.Since(began))
	})
}

// A wait that the deadline has ended is a timeout to http.Client, and nothing else is.
func TestOurErrorsTellOfTimeouts(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(context.Context) (context.Context, context.CancelFunc)
		want bool
	}{
		"a deadline that passes": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(time.Second, func() { cancel(context.DeadlineExceeded) })
			return ctx, func() { cancel(nil) }
		}, true},
		"a deadline that would pass": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, true},
		"cancelled": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, err := guard.New(guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Hour)}}})
				require.NoError(t, err)
				client := &http.Client{Transport: under(fine(), presets.OpenAITier1, l)}
				for i := range 2 {
					ctx, cancel := c.end(t.Context())
					req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.openai.com/", http.NoBody)
					require.NoError(t, err)
					resp, err := client.Do(req)
					if i == 0 {
						require.NoError(t, err)
						read(t, resp)
					} else {
						failed, ok := errors.AsType[*url.Error](err)
						require.True(t, ok)
						assert.Equal(t, c.want, failed.Timeout())
					}
					cancel()
				}
			})
		})
	}
}

// What net/http will never send is tried once, costs nothing and teaches nothing.
func TestWhatIsNeverSent(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"scheme":  func(r *http.Request) { r.URL.Scheme = "foo" },
		"no host": func(r *http.Request) { r.URL.Host = "" },
		"header":  func(r *http.Request) { r.Header["A B"] = []string{"x"} },
		"value":   func(r *http.Request) { r.Header["A"] = []string{"x\n"} },
		"method":  func(r *http.Request) { r.Method = "A B" },
	} {
		t.Run(name, func(t *testing.T) {
			l, b := limiter(t)
			send := func(base http.RoundTripper, idempotent bool) {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1/", http.NoBody)
				require.NoError(t, err)
				if idempotent {
					req.Header.Set("Idempotency-Key", "k")
				}
				change(req)
				_, err = under(base, presets.OpenAITier1, l).RoundTrip(req) //nolint:bodyclose // there is none
				assert.Error(t, err)
			}
			send(&http.Transport{}, true)
			assert.Equal(t, []adaptive.Verdict{adaptive.Unsent}, b.verdicts())
		})
	}
}

// A nil pointer in an error of the base, with methods that panic, is returned as it is.
func TestAnErrorWithMethodsThatPanic(t *testing.T) {
	l, _ := limiter(t)
	broken := error((*adaptive.RateLimitHit)(nil))
	rt := under(tripper(func(*http.Request) (*http.Response, error) { return nil, broken }), presets.OpenAITier1, l)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a.test/", http.NoBody)
	require.NoError(t, err)
	require.NotPanics(t, func() {
		_, err = rt.RoundTrip(req) //nolint:bodyclose // there is none
	})
	assert.True(t, err == broken) //nolint:errorlint,testifylint // its methods panic
	assert.Zero(t, l.Stats().InFlight)
}

// A base that is no http.Transport is believed once it has shown that it tells of its connections.
func TestABaseThatTellsOfConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := limiter(t)
		inner := &http.Transport{}
		failure := errors.New("will not")
		silent := true
		base := tripper(func(r *http.Request) (*http.Response, error) {
			if silent {
				return nil, failure
			}
			return inner.RoundTrip(r)
		})
		rt := under(base, presets.OpenAITier1, l)
		send := func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://127.0.0.1:0/", http.NoBody)
			require.NoError(t, err)
			_, err = rt.RoundTrip(req) //nolint:bodyclose // there is none
			assert.Error(t, err)
		}
		send()
		assert.Equal(t, []adaptive.Verdict{adaptive.Transient, adaptive.Transient, adaptive.Transient}, b.verdicts(), "it may have been sent")
		silent = false
		send()
		require.Len(t, b.ended(), 6, "no connection")
		silent = true
		send()
		assert.Len(t, b.ended(), 7)
		assert.Equal(t, adaptive.Unsent, b.verdicts()[6])
	})
}

// A 503 that says nothing of waiting may have been worked on.
func TestABare503(t *testing.T) {
	for name, c := range map[string]struct {
		method, header, body string
		status               int
		sent                 int
	}{
		"POST":                 {http.MethodPost, "", `{"error":{"code":503,"status":"UNAVAILABLE"}}`, 503, 1},
		"GET":                  {http.MethodGet, "", `{"error":{"code":503,"status":"UNAVAILABLE"}}`, 503, 2},
		"POST, keyed":          {http.MethodPost, "Idempotency-Key", `{"error":{"code":503,"status":"UNAVAILABLE"}}`, 503, 2},
		"POST, told":           {http.MethodPost, "Retry-After", `{}`, 503, 2},
		"POST, told in a body": {http.MethodPost, "", `{"error":{"code":503,"status":"UNAVAILABLE","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]}}`, 503, 2},
		"POST, 529":            {http.MethodPost, "", `{}`, 529, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, b := limiter(t)
				base := tripper(func(*http.Request) (*http.Response, error) {
					if len(b.ended()) > 0 {
						return answer(http.StatusOK, "", `{}`), nil
					}
					resp := answer(c.status, "", c.body)
					if c.header == "Retry-After" {
						resp.Header.Set(c.header, "0")
					}
					return resp, nil
				})
				req, err := http.NewRequestWithContext(t.Context(), c.method, secretURL, http.NoBody)
				require.NoError(t, err)
				if c.header == "Idempotency-Key" {
					req.Header.Set(c.header, "k")
				}
				resp, err := under(base, presets.GeminiTier1, l).RoundTrip(req)
				require.NoError(t, err)
				read(t, resp)
				assert.Equal(t, adaptive.Overloaded, b.verdicts()[0])
				assert.Len(t, b.ended(), c.sent)
			})
		})
	}
}

// The body of an answer that is not wanted is closed, also if there is nothing in it.
func TestAnswersThatAreNotWantedAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := limiter(t)
		var bodies []*closer
		base := tripper(func(*http.Request) (*http.Response, error) {
			resp := answer(http.StatusBadGateway, "", "")
			bodies = append(bodies, &closer{Reader: http.NoBody})
			resp.Body = bodies[len(bodies)-1]
			return resp, nil
		})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, secretURL, http.NoBody)
		require.NoError(t, err)
		resp, err := under(base, presets.OpenAITier1, l).RoundTrip(req)
		require.NoError(t, err)
		require.Len(t, bodies, 3)
		assert.True(t, bodies[0].closed.Load() && bodies[1].closed.Load())
		assert.False(t, bodies[2].closed.Load(), "the caller's")
		resp.Body.Close()
	})
}

// The model and the bound of a long request are found wherever they stand.
func TestALongRequest(t *testing.T) {
	image := strings.Repeat("A", 3<<20)
	body := `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + image + `"}}]}],"model":"gpt-4o","max_tokens":4321}`
	reg := emptyRegistry(t)
	rt := headrace.Transport(fine(), presets.OpenAITier5, headrace.WithRegistry(reg))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, secretURL, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := rt.RoundTrip(req)
	require.NoError(t, err)
	read(t, resp)
	assert.Equal(t, []string{"openai/api.openai.com/tier5:gpt-4o"}, reg.Names())

	l, b := limiter(t)
	rt = under(fine(), presets.OpenAITier1, l)
	for kind, want := range map[string]int64{"application/json": 4321, "text/plain": 0} {
		b.sent = nil
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, secretURL, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", kind)
		resp, err := rt.RoundTrip(req)
		require.NoError(t, err)
		read(t, resp)
		assert.Equal(t, want, b.sent[0].Cost.Output)
	}
}

// The event of a rate-limit response says in its error what it was, by the conventions of OpenTelemetry.
func TestTheErrorOfAHitHasAType(t *testing.T) {
	const limited = `{"base_resp":{"status_code":1002,"status_msg":"rate limit"}}`
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"a status":          {http.StatusTooManyRequests, `{}`, "429"},
		"an overload":       {529, `{}`, "529"},
		"an error in a 200": {http.StatusOK, limited, "rate_limited"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var types []string
				sent := 0
				rt := headrace.Transport(tripper(func(*http.Request) (*http.Response, error) {
					if sent++; sent == 1 {
						return answer(c.status, "", c.body), nil
					}
					return answer(http.StatusOK, "", `{}`), nil
				}), "", headrace.WithRegistry(emptyRegistry(t)), headrace.With(guard.Policy{Dialect: dialect.MiniMax, Observer: event.Func(func(e event.Event) {
					typed, ok := errors.AsType[interface {
						error
						ErrorType() string
					}](e.Err)
					if e.Kind == event.LimiterHit && ok {
						types = append(types, typed.ErrorType())
					}
				})}))
				read(t, post(t, &http.Client{Transport: rt}, secretURL, `{}`)) //nolint:bodyclose // read does
				assert.Equal(t, []string{c.want}, types)
			})
		})
	}
}
