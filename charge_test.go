package headrace_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/throttle"
)

// connected is a base that says it had so many connections for a request.
func connected(n int, text string) http.RoundTripper {
	return tripper(func(r *http.Request) (*http.Response, error) {
		trace := httptrace.ContextClientTrace(r.Context())
		for range n {
			trace.GetConn("h")
			trace.GotConn(httptrace.GotConnInfo{})
		}
		return answer(http.StatusOK, "", text), nil
	})
}

// Each connection is a request; what was used of tokens the answer tells, or else it is as reserved.
func TestWhatIsCharged(t *testing.T) {
	const texts = `{"model":"embed","texts":["one","two","three"]}`
	for name, c := range map[string]struct {
		connections  int
		answer, body string
		preset       presets.ID
		want         throttle.Cost
	}{
		"no usage":                      {1, `{}`, `{"max_tokens":40}`, presets.OpenAITier1, throttle.Cost{Requests: 1, Tokens: 40, Output: 40}},
		"no usage, sent twice":          {2, `{}`, `{"max_tokens":40}`, presets.OpenAITier1, throttle.Cost{Requests: 2, Tokens: 80, Output: 80}},
		"usage, a base without a trace": {0, `{"usage":{"prompt_tokens":3,"total_tokens":3}}`, `{}`, presets.OpenAITier1, throttle.Cost{Requests: 1, Tokens: 3, Input: 3}},
		"usage, sent twice":             {2, `{"usage":{"prompt_tokens":3,"total_tokens":3}}`, `{}`, presets.OpenAITier1, throttle.Cost{Requests: 2, Tokens: 3, Input: 3}},
		"points, which no answer tells": {1, `{"meta":{"billed_units":{"input_tokens":9}}}`, texts, presets.CohereProduction, throttle.Cost{Requests: 1, Input: 9, Points: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			l, b := limiter(t)
			rt := under(connected(c.connections, c.answer), c.preset, l)
			read(t, post(t, &http.Client{Transport: rt}, secretURL, c.body)) //nolint:bodyclose // read does
			assert.Equal(t, c.want, b.ended()[0].Used)
		})
	}
}

// A failure's Retry-After is a lower bound.
func TestRetryAfterOfAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := limiter(t)
		rt := under(tripper(func(*http.Request) (*http.Response, error) {
			if len(b.ended()) == 0 {
				return answer(http.StatusInternalServerError, "Retry-After: 40", `{}`), nil
			}
			return answer(http.StatusOK, "", `{}`), nil
		}), presets.OpenAITier1, l)
		began := time.Now()
		resp, err := (&http.Client{Transport: rt}).Get("https://api.openai.com/")
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		read(t, resp)
		assert.Equal(t, 40*time.Second, time.Since(began))
	})
}

// A cancelled call is no evidence about the provider.
func TestACallersCancelIsNoFailure(t *testing.T) {
	for name, c := range map[string]struct {
		cancels bool
		want    []adaptive.Verdict
	}{
		"cancelled": {true, []adaptive.Verdict{adaptive.Unclassified}},
		"broken":    {false, []adaptive.Verdict{adaptive.Transient}},
	} {
		t.Run(name, func(t *testing.T) {
			l, b := limiter(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			rt := under(tripper(func(*http.Request) (*http.Response, error) {
				if c.cancels {
					cancel()
				}
				return nil, errors.New("broken")
			}), presets.OpenAITier1, l)
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, secretURL, http.NoBody)
			require.NoError(t, err)
			_, err = rt.RoundTrip(req) //nolint:bodyclose // there is none
			assert.ErrorContains(t, err, "broken")
			assert.Equal(t, c.want, b.verdicts())
		})
	}
}

// What goes through the same limiter below has the permit of the request: one is enough for both.
func TestTheBaseHasTheContextOfTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := guard.New(guard.Policy{Limits: throttle.Limits{Concurrency: 1}})
		require.NoError(t, err)
		inner := under(fine(), presets.OpenAITier1, l)
		outer := under(inner, presets.OpenAITier1, l)
		read(t, post(t, &http.Client{Transport: outer}, secretURL, `{}`)) //nolint:bodyclose // read does
		assert.Zero(t, l.Stats().InFlight)
		assert.EqualValues(t, 1, l.Stats().Admitted)
	})
}

// The dial of an attempt may use its hooks after the next attempt has begun.
func TestEachAttemptHasItsOwnTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := limiter(t)
		traces := map[*httptrace.ClientTrace]bool{}
		rt := under(tripper(func(r *http.Request) (*http.Response, error) {
			traces[httptrace.ContextClientTrace(r.Context())] = true
			return answer(http.StatusInternalServerError, "", `{}`), nil
		}), presets.OpenAITier1, l)
		resp, err := (&http.Client{Transport: rt}).Get("https://api.openai.com/")
		require.NoError(t, err)
		read(t, resp)
		require.Len(t, b.ended(), 3)
		assert.Len(t, traces, 3)
	})
}

// Of a stream that is closed early the first event's word on usage is not the last; a later one's is.
func TestTheUsageOfAStreamThatIsClosedEarly(t *testing.T) {
	const (
		begin = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}\n\n"
		end   = "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":15}}\n\n"
		more  = "event: ping\ndata: {}\n\n"
	)
	for name, c := range map[string]struct {
		text  string
		whole bool
		want  throttle.Cost
	}{
		"in the first event":                   {begin, false, throttle.Cost{Requests: 1}},
		"in the first event, and read":         {begin, true, throttle.Cost{Requests: 1, Input: 25, Output: 1}},
		"in the first event and a later one":   {begin + end, false, throttle.Cost{Requests: 1, Input: 25, Output: 15}},
		"in a later event alone, and then end": {more + end, false, throttle.Cost{Requests: 1, Output: 15}},
	} {
		t.Run(name, func(t *testing.T) {
			l, b := limiter(t)
			rt := under(tripper(func(*http.Request) (*http.Response, error) {
				resp := answer(http.StatusOK, "", c.text+more+more)
				resp.Header.Set("Content-Type", "text/event-stream")
				resp.ContentLength = -1
				return resp, nil
			}), presets.AnthropicTier1, l)
			resp := post(t, &http.Client{Transport: rt}, secretURL, "")
			some := make([]byte, len(c.text)+len(more))
			_, err := io.ReadFull(resp.Body, some)
			require.NoError(t, err)
			if c.whole {
				_, err = io.Copy(io.Discard, resp.Body)
				require.NoError(t, err)
			}
			resp.Body.Close()
			assert.Equal(t, c.want, b.ended()[0].Used)
		})
	}
}

// In a long document an object called error is data; in a stream it is the provider's word.
func TestAnErrorWithinALongAnswer(t *testing.T) {
	for kind, want := range map[string]adaptive.Verdict{"application/json": adaptive.OK, "text/event-stream": adaptive.Hit} {
		l, b := limiter(t)
		text := `{"rows":["` + strings.Repeat("x", 100<<10) + `"],"error":{"type":"rate_limit_error"}}`
		if want == adaptive.Hit {
			text = "data: " + text + "\n\n"
		}
		rt := under(tripper(func(*http.Request) (*http.Response, error) {
			resp := answer(http.StatusOK, "", text)
			resp.Header.Set("Content-Type", kind)
			return resp, nil
		}), presets.AnthropicTier1, l)
		read(t, post(t, &http.Client{Transport: rt}, secretURL, "")) //nolint:bodyclose // read does
		assert.Equal(t, []adaptive.Verdict{want}, b.verdicts(), kind)
	}
}
