package dialect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

func TestMeters(t *testing.T) {
	for _, tc := range []struct {
		name   string
		by     dialect.Name
		header string
		want   meters
	}{
		{"nothing", dialect.OpenAI, "", meters{}},
		{"a limit alone", dialect.OpenAI, "x-ratelimit-limit-requests: 60", meters{}},
		{"the rest alone", dialect.OpenAI, "x-ratelimit-remaining-requests: 60", meters{}},
		{"no number", dialect.OpenAI, "x-ratelimit-limit-requests: many\nx-ratelimit-remaining-requests: 60", meters{}},
		{"unknown", dialect.OpenAI, "x-ratelimit-limit-requests: 60\nx-ratelimit-remaining-requests: -1", meters{}},
		{"no limit", dialect.OpenAI, "x-ratelimit-limit-requests: 0\nx-ratelimit-remaining-requests: 0", meters{}},
		{"no end", dialect.OpenAI, "x-ratelimit-limit-requests: 9223372036854775807\nx-ratelimit-remaining-requests: 9223372036854775806", meters{}},
		{"unknown reset", dialect.OpenAI, "x-ratelimit-limit-requests: 60\nx-ratelimit-remaining-requests: 6\nx-ratelimit-reset-requests: -1", meters{left(6, 60, 0)}},
		{"more than all", dialect.OpenAI, "x-ratelimit-limit-requests: 60\nx-ratelimit-remaining-requests: 61", meters{left(60, 60, 0)}},
		{
			"the project has less", dialect.OpenAI,
			"x-ratelimit-limit-tokens: 200000\nx-ratelimit-remaining-tokens: 150000\nx-ratelimit-reset-tokens: 15s\n" +
				"x-ratelimit-limit-project-tokens: 20000\nx-ratelimit-remaining-project-tokens: 19000\nx-ratelimit-reset-project-tokens: 3s",
			meters{throttle.Tokens: left(19000, 20000, 3*time.Second)},
		},
		{
			"the project has more", dialect.OpenAI,
			"x-ratelimit-limit-tokens: 200000\nx-ratelimit-remaining-tokens: 1500\nx-ratelimit-reset-tokens: 55s\n" +
				"x-ratelimit-limit-project-tokens: 20000\nx-ratelimit-remaining-project-tokens: 19000\nx-ratelimit-reset-project-tokens: 3s",
			meters{throttle.Tokens: left(1500, 200000, 55*time.Second)},
		},
		{
			"fast mode", dialect.Anthropic,
			"anthropic-fast-input-tokens-limit: 1000\nanthropic-fast-input-tokens-remaining: 0\nanthropic-fast-input-tokens-reset: 2026-11-20T19:20:13Z\n" +
				"anthropic-priority-output-tokens-limit: 1000\nanthropic-priority-output-tokens-remaining: 0",
			meters{throttle.InputTokens: left(0, 1000, 10*time.Second)},
		},
		{"a day's requests", dialect.Groq, "x-ratelimit-limit-requests: 14400\nx-ratelimit-remaining-requests: 14370\nx-ratelimit-reset-requests: 2m59.56s", meters{left(14370, 14400, 179560*time.Millisecond)}},
		{"no reset", dialect.Mistral, "x-ratelimit-limit-req-minute: 60\nx-ratelimit-remaining-req-minute: 59", meters{left(59, 60, 0)}},
		{"a trial", dialect.Cohere, "x-trial-endpoint-call-limit: 20\nx-trial-endpoint-call-remaining: 19\nx-endpoint-monthly-call-limit: 1000", meters{left(19, 20, 0)}},
		{"azure's other spelling", dialect.Azure, "x-ratelimit-limit-tokens: 1000\nx-ratelimit-remaining-tokens: 0\nx-rate-limit-reset-tokens: 12", meters{throttle.Tokens: left(0, 1000, 12*time.Second)}},
		{
			"the rate of the moment", dialect.Together, "x-ratelimit-limit: 10\nx-ratelimit-remaining: 9\nx-ratelimit-reset: 0.1\n" +
				"x-ratelimit-limit-dynamic: 5\nx-ratelimit-remaining-dynamic: 4\nx-tokenlimit-limit: 3000\nx-tokenlimit-remaining: 2900",
			meters{left(4, 5, 0), left(2900, 3000, 0)},
		},
		{
			"what is not in the cache", dialect.Fireworks, "x-ratelimit-limit-tokens-prompt: 100\nx-ratelimit-remaining-tokens-prompt: 90\n" +
				"x-ratelimit-limit-tokens-cache-adjusted-prompt: 50\nx-ratelimit-remaining-tokens-cache-adjusted-prompt: 40",
			meters{throttle.InputTokens: left(40, 50, 0)},
		},
		{"a gateway's, where the provider says nothing", dialect.Bedrock, "x-ratelimit-limit: 60\nx-ratelimit-remaining: 6", meters{left(6, 60, 0)}},
		{"likewise, of the IETF", dialect.OpenAI, "RateLimit: \"a\";r=5;t=3\nRateLimit-Policy: \"a\";q=10", meters{left(5, 10, 3*time.Second)}},
		{"but not where it speaks", dialect.OpenAI, "x-ratelimit-limit-requests: 60\nx-ratelimit-remaining-requests: 6\nx-ratelimit-limit: 9\nx-ratelimit-remaining: 1", meters{left(6, 60, 0)}},
		{"a field as long as any that is read", dialect.Generic, "RateLimit: \"a\";r=5;t=3;x=\"" + strings.Repeat("x", 4<<10-len(`"a";r=5;t=3;x=""`)) + "\"\nRateLimit-Policy: \"a\";q=10", meters{left(5, 10, 3*time.Second)}},
		{"a longer one", dialect.Generic, "RateLimit: \"a\";r=5;t=3;x=\"" + strings.Repeat("x", 4<<10-len(`"a";r=5;t=3;x=""`)+1) + "\"\nRateLimit-Policy: \"a\";q=10", meters{}},
		{"like openai", dialect.XAI, "x-ratelimit-limit-tokens: 60\nx-ratelimit-remaining-tokens: 6", meters{throttle.Tokens: left(6, 60, 0)}},
		{"per second", dialect.NCBI, "X-RateLimit-Limit: 10\nX-RateLimit-Remaining: 7", meters{left(7, 10, 0)}},
		{"limits and an interval tell nothing of what is left", dialect.Crossref, "x-rate-limit-limit: 5\nx-rate-limit-interval: 1s", meters{}},
		{"old form", dialect.Generic, "RateLimit-Limit: 10, 10;w=1, 50;w=60\nRateLimit-Remaining: 9\nRateLimit-Reset: 1", meters{left(9, 10, time.Second)}},
		{"draft 7", dialect.Generic, "RateLimit: limit=100, remaining=50, reset=5\nRateLimit-Policy: 100;w=60", meters{left(50, 100, 5*time.Second)}},
		{"draft 7 without a limit", dialect.Generic, "RateLimit: remaining=50, reset=5", meters{}},
		{"new form, tokens as names", dialect.Generic, "RateLimit: api;r=5;t=3\nRateLimit-Policy: api;q=10;w=60", meters{left(5, 10, 3*time.Second)}},
		{"another policy", dialect.Generic, "RateLimit: \"a\";r=5;t=3\nRateLimit-Policy: \"b\";q=10;w=60", meters{}},
		{"no remaining", dialect.Generic, "RateLimit: \"a\";t=3\nRateLimit-Policy: \"a\";q=10;w=60", meters{}},
		{"on two lines", dialect.Generic, "RateLimit: \"a\";r=5;t=3\nRateLimit: \"b\";r=4;t=2\nRateLimit-Policy: \"a\";q=10\nRateLimit-Policy: \"b\";q=8", meters{left(4, 8, 2*time.Second)}},
		{"points", dialect.Generic, "RateLimit: \"a\";r=5\nRateLimit-Policy: \"a\";q=10;qu=\"content-bytes\"", meters{}},
		{"an unknown unit as a token", dialect.Generic, "RateLimit: \"a\";r=5\nRateLimit-Policy: \"a\";q=10;qu=requests", meters{left(5, 10, 0)}},
		{"a comma in a name", dialect.HuggingFace, "RateLimit: \"a,b;c\";r=5\nRateLimit-Policy: \"fixed window\";\"a,b;c\";q=10;w=300", meters{left(5, 10, 0)}},
		{"a quote in a name", dialect.IETF, "RateLimit: \"a\\\",b\";r=5\nRateLimit-Policy: \"a\\\",b\";q=10;pk=:cHNs:", meters{left(5, 10, 0)}},
		{"absurd", dialect.Generic, "RateLimit: \"a\";r=5;t=999999999999\nRateLimit-Policy: \"a\";q=10", meters{left(5, 10, 31*24*time.Hour)}},
	} {
		assert.Equal(t, tc.want, tc.by.Read(arrival(), 200, headerOf(tc.header), nil).Meters, tc.name)
	}
}

// A quota that is used up gives the wait even if its limit is not declared; -1 does not.
func TestUsedUpWithoutALimit(t *testing.T) {
	f := dialect.HuggingFace.Read(arrival(), 429, headerOf("RateLimit: \"api\";r=0;t=55"), nil)
	assert.Equal(t, 55*time.Second, f.RetryAfter)
	f = dialect.Azure.Read(arrival(), 429, headerOf("x-ratelimit-limit-tokens: -1\nx-ratelimit-remaining-tokens: 0\nx-ratelimit-reset-tokens: 9"), nil)
	assert.Zero(t, f.RetryAfter)
	assert.Zero(t, f.Kind)
	f = dialect.Azure.Read(arrival(), 429, headerOf("x-ratelimit-limit-tokens: 0\nx-ratelimit-remaining-tokens: 0\nx-ratelimit-reset-tokens: 9"), nil)
	assert.Zero(t, f.RetryAfter)
	assert.Zero(t, f.Kind)
}
