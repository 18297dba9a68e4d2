package providertest_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/throttle"
	"github.com/stretchr/testify/require"
)

// tongue is one dialect and what its client can learn from it.
type tongue struct {
	speaks   providertest.Dialect
	reads    dialect.Name
	path     string
	body     string
	requests bool          // the meter of requests is declared
	tokens   bool          // and that of tokens
	resets   bool          // with resets
	used     throttle.Cost // by an answer
	money    int           // the status of an account without any
	full     int           // the status of a provider that is full
	whenFull adaptive.Verdict
	tooLarge adaptive.Verdict
}

func tongues() map[string]tongue {
	both := throttle.Cost{Tokens: 13, Input: 10, Output: 3}
	return map[string]tongue{
		"openai": {
			providertest.OpenAI, dialect.OpenAI, chatPath, hello, true, true, true, both,
			429, 503, adaptive.Overloaded, adaptive.OK,
		},
		"openai by route": {
			providertest.ByRoute, dialect.Auto, chatPath, hello, true, true, true, both,
			429, 503, adaptive.Overloaded, adaptive.OK,
		},
		"embeddings": {
			providertest.ByRoute, dialect.OpenAI, embeddingsPath, `{"model":"e","input":"Hello there. And more. And then some more."}`,
			true, true, true,
			throttle.Cost{Tokens: 11, Input: 11},
			429, 503, adaptive.Overloaded, adaptive.OK,
		},
		"azure": {
			providertest.Azure, dialect.Azure, chatPath, hello, true, true, true, both,
			429, 503, adaptive.Overloaded, adaptive.OK,
		},
		"anthropic": {
			providertest.Anthropic, dialect.Anthropic, messagesPath, helloMessage, true, true, true,
			throttle.Cost{Input: 10, Output: 3},
			400, 529, adaptive.Overloaded, adaptive.Hit,
		},
		"anthropic by route": {
			providertest.ByRoute, dialect.Auto, messagesPath, helloMessage, true, true, true,
			throttle.Cost{Input: 10, Output: 3},
			400, 529, adaptive.Overloaded, adaptive.Hit,
		},
		"gemini": {
			providertest.Gemini, dialect.Gemini, chatPath, hello, false, false, false,
			throttle.Cost{Tokens: 10, Input: 10, Output: 3},
			402, 503, adaptive.Overloaded, adaptive.OK,
		},
		"mistral": {
			providertest.Mistral, dialect.Mistral, chatPath, hello, true, true, false, both,
			402, 503, adaptive.Overloaded, adaptive.OK,
		},
		"groq": {
			providertest.Groq, dialect.Groq, chatPath, hello, true, true, true, both,
			429, 503, adaptive.Overloaded, adaptive.OK,
		},
		"ietf": {
			providertest.IETF, dialect.IETF, chatPath, hello, true, false, true, both,
			402, 503, adaptive.Overloaded, adaptive.OK,
		},
		"generic": {
			providertest.Generic, dialect.Generic, chatPath, hello, true, false, true, both,
			402, 503, adaptive.Transient, adaptive.OK, // a plain 503 may be anything
		},
	}
}

const chatPath = "/v1/chat/completions"

// ask posts the dialect's request and reads the answer as a client would.
func (c tongue) ask(t *testing.T, s *providertest.Server, key string) (reply, adaptive.Feedback) {
	t.Helper()
	got := post(t, s.Transport(), base+c.path, key, c.body)
	var d dialect.Dialect = c.reads
	return got, d.Read(time.Now(), got.status, got.header, []byte(got.body))
}

// TestDialectsAreUnderstood holds what the server sends against what
// presets/dialect, which knows nothing of this package, reads.
func TestDialectsAreUnderstood(t *testing.T) {
	for name, c := range tongues() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, providertest.Config{
					Dialect: c.speaks, Headers: true, RetryAfter: providertest.RetryAfterSeconds,
					Limits: providertest.Limits{
						Rate:   providertest.Bucket{PerSecond: 0.5, Burst: 2},
						Tokens: providertest.Bucket{PerSecond: 1000, Burst: 40_000},
					},
				})
				got, f := c.ask(t, s, "")
				require.Equal(t, http.StatusOK, got.status)
				require.Equal(t, adaptive.OK, f.Verdict)
				require.Equal(t, c.used, f.Used)
				c.checkMeters(t, f, 1)

				c.ask(t, s, "")
				got, f = c.ask(t, s, "")
				require.Equal(t, http.StatusTooManyRequests, got.status, got.body)
				require.Equal(t, adaptive.Hit, f.Verdict, got.body)
				require.Equal(t, 2*time.Second, f.RetryAfter, got.body)
				require.Equal(t, c.reads == dialect.Gemini, got.header.Get("Retry-After") == "", "Gemini tells it in the body alone")
				if c.reads == dialect.Mistral {
					require.Equal(t, "0", got.header.Get("X-Ratelimit-Tokens-Query-Cost"), "a refusal is not charged")
				}
				c.checkMeters(t, f, 0)
			})
		})
	}
}

func (c tongue) checkMeters(t *testing.T, f adaptive.Feedback, remaining int64) {
	t.Helper()
	requests, tokens := f.Meters[throttle.Requests], f.Meters[throttle.Tokens]
	require.Equal(t, c.requests, requests.Known)
	require.Equal(t, c.tokens, tokens.Known)
	if c.requests {
		require.EqualValues(t, 2, requests.Limit)
		require.Equal(t, remaining, requests.Remaining)
		require.Equal(t, c.resets, requests.Reset == time.Duration(2-remaining)*2*time.Second, "%v", requests.Reset)
	}
	if c.tokens {
		require.EqualValues(t, 40_000, tokens.Limit)
		require.InDelta(t, 39_980, tokens.Remaining, 20)
		require.Equal(t, c.resets, tokens.Reset > 0)
	}
}

// TestDialectsNameTheLimit has one limit refuse at a time.
func TestDialectsNameTheLimit(t *testing.T) {
	for name, c := range tongues() {
		t.Run(name, func(t *testing.T) {
			bucket := providertest.Bucket{PerSecond: 1, Burst: 20}
			for about, l := range map[string]struct {
				limits  providertest.Limits
				refusal providertest.Refusal
			}{
				"tokens":    {providertest.Limits{Tokens: bucket}, providertest.RefusedTokens},
				"input":     {providertest.Limits{InputTokens: bucket}, providertest.RefusedInputTokens},
				"too large": {providertest.Limits{Tokens: providertest.Bucket{PerSecond: 1, Burst: 1}}, providertest.RefusedTooLarge},
			} {
				synctest.Test(t, func(t *testing.T) {
					s := newServer(t, providertest.Config{
						Dialect: c.speaks, Headers: true, RetryAfter: providertest.RetryAfterSeconds, Limits: l.limits,
					})
					var got reply
					var f adaptive.Feedback
					for range 3 {
						got, f = c.ask(t, s, "")
					}
					for a := range s.Ledger().All() {
						if a.Seq == 3 {
							require.Equal(t, l.refusal, a.Refused)
							require.Equal(t, got.status, a.Status)
						}
					}
					if l.refusal == providertest.RefusedTooLarge {
						require.Equal(t, c.tooLarge, f.Verdict, got.body)
						require.Empty(t, got.header.Get("Retry-After"))
						require.Equal(t, c.reads == dialect.Groq, got.status == http.StatusRequestEntityTooLarge)
						return
					}
					require.Equal(t, adaptive.Hit, f.Verdict, "%s: %s", about, got.body)
					require.Positive(t, f.RetryAfter)
					elapse(f.RetryAfter)
					got, _ = c.ask(t, s, "")
					require.Equal(t, http.StatusOK, got.status, "the wait is true")
				})
			}
		})
	}
}

func TestDialectsOfFaults(t *testing.T) {
	for name, c := range tongues() {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, providertest.Config{Dialect: c.speaks, Fault: func(r providertest.Request) *providertest.Fault {
				switch r.Key {
				case "money":
					return providertest.QuotaExhausted()
				case "full":
					return providertest.Overloaded()
				}
				var status int
				_, _ = fmt.Sscan(r.Key, &status)
				return &providertest.Fault{Status: status}
			}})
			for key, want := range map[string]struct {
				status  int
				verdict adaptive.Verdict
			}{
				"money": {c.money, adaptive.Terminal},
				"full":  {c.full, c.whenFull},
				"402":   {402, adaptive.Terminal},
				"429":   {429, adaptive.Hit},
				"500":   {500, adaptive.Transient},
				"529":   {529, adaptive.Overloaded},
				"400":   {400, adaptive.OK},
				"404":   {404, adaptive.OK},
				"413":   {413, adaptive.OK},
			} {
				got, f := c.ask(t, s, key)
				require.Equal(t, want.status, got.status, key)
				require.Equal(t, want.verdict, f.Verdict, "%s: %s", key, got.body)
			}
		})
	}
}

func TestAnthropicTellsTokensApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		perMinute := func(n int) providertest.Bucket { return providertest.Bucket{PerSecond: float64(n) / 60, Burst: n} }
		s := newServer(t, providertest.Config{Headers: true, Limits: providertest.Limits{
			InputTokens: perMinute(60_000), OutputTokens: perMinute(6_000),
		}})
		got := post(t, s.Transport(), base+messagesPath, "", helloMessage)
		f := dialect.Anthropic.Read(time.Now(), got.status, got.header, []byte(got.body))
		require.Equal(t, adaptive.Meter{Known: true, Limit: 60_000, Remaining: 60_000, Reset: time.Second}, f.Meters[throttle.InputTokens])
		require.Equal(t, adaptive.Meter{Known: true, Limit: 6_000, Remaining: 6_000, Reset: time.Second}, f.Meters[throttle.OutputTokens])
		require.Equal(t, f.Meters[throttle.OutputTokens], f.Meters[throttle.Tokens], "the tightest")
		for a := range s.Ledger().All() {
			require.Equal(t, providertest.Tokens{Total: 19, Input: 10, Output: 9}, a.Reserved)
			require.Equal(t, providertest.Tokens{Total: 13, Input: 10, Output: 3}, a.Used)
		}
	})
}

func TestReservationsOfTheDialects(t *testing.T) {
	const body = `{"model":"m","max_tokens":30,"messages":[{"role":"user","content":"Hello there. And more."}]}`
	for d, want := range map[providertest.Dialect][2]int{ // reserved, used
		providertest.ByRoute: {30, 13}, providertest.OpenAI: {30, 13}, providertest.Groq: {30, 13},
		providertest.Azure: {40, 13}, providertest.Anthropic: {40, 13}, providertest.Mistral: {40, 13},
		providertest.IETF: {40, 13}, providertest.Generic: {40, 13}, providertest.Gemini: {10, 10},
	} {
		s := newServer(t, providertest.Config{Dialect: d, Headers: true})
		got := send(t, s.Transport(), base, "", body)
		for a := range s.Ledger().All() {
			require.Equal(t, providertest.Tokens{Total: want[0], Input: 10, Output: 30}, a.Reserved, "%d", d)
			require.Equal(t, providertest.Tokens{Total: want[1], Input: 10, Output: 3}, a.Used, "%d", d)
		}
		if d == providertest.Mistral {
			require.Equal(t, "13", got.header.Get("X-Ratelimit-Tokens-Query-Cost"))
		}
	}
}

func TestProblemDetails(t *testing.T) {
	s := newServer(t, providertest.Config{Dialect: providertest.IETF, Limits: oneIn1500ms})
	send(t, s.Transport(), base, "", hello)
	got := send(t, s.Transport(), base, "", hello)
	require.Equal(t, "application/problem+json", got.header.Get("Content-Type"))
	require.JSONEq(t, `{
		"type": "https://iana.org/assignments/http-problem-types#quota-exceeded", "status": 429,
		"title": "Rate limit reached for test-1 on requests. Please try again later.", "violated-policies": ["default"]
	}`, got.body)
}
