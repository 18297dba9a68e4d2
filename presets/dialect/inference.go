package dialect

import (
	"net/http"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// inference are the other providers of models, by what their pages said in 2026.
func inference() []speaker {
	return []speaker{
		miniMax(), mistral(), groq(), bedrock(), openRouter(),
		{
			name:  Cohere,
			hosts: []string{"cohere.com", "cohere.ai"},
			marks: []string{"X-Trial-Endpoint-Call-Limit", "X-Endpoint-Monthly-Call-Limit"},
			gauges: []gauge{{ // of trial keys, per minute
				unit: throttle.Requests, limit: "X-Trial-Endpoint-Call-Limit", remaining: "X-Trial-Endpoint-Call-Remaining",
			}},
			rules:  []rule{{status: statuses(tooMany), text: "monthly|per month|/ month|/month", verdict: adaptive.Terminal}},
			charge: chargeInputs,
		},
		{
			name:  DeepSeek,
			hosts: []string{"deepseek.com"},
			marks: []string{"X-Ds-Trace-Id"},
			rules: []rule{
				{status: statuses(tooMany), verdict: adaptive.Hit, kind: adaptive.KindConcurrency}, // it has no other limit
				{status: statuses(unavailable), verdict: adaptive.Overloaded},
			},
		},
		{
			name:  Together,
			hosts: []string{"together.xyz", "together.ai"},
			marks: []string{"X-Tokenlimit-Limit", "X-Ratelimit-Limit-Dynamic"},
			gauges: []gauge{ // per second
				{unit: throttle.Requests, limit: "X-Ratelimit-Limit", remaining: "X-Ratelimit-Remaining", reset: "X-Ratelimit-Reset"},
				{unit: throttle.Tokens, limit: "X-Tokenlimit-Limit", remaining: "X-Tokenlimit-Remaining"},
				{unit: throttle.Requests, limit: "X-Ratelimit-Limit-Dynamic", remaining: "X-Ratelimit-Remaining-Dynamic"},
				{unit: throttle.Tokens, limit: "X-Tokenlimit-Limit-Dynamic", remaining: "X-Tokenlimit-Remaining-Dynamic"},
			},
			rules: []rule{{status: statuses(unavailable), verdict: adaptive.Overloaded}},
		},
		fireworks(),
		{
			name:  Cerebras,
			hosts: []string{"cerebras.ai"},
			marks: []string{"X-Ratelimit-Limit-Requests-Day"},
			gauges: []gauge{
				{
					unit: throttle.Requests, limit: "X-Ratelimit-Limit-Requests-Day",
					remaining: "X-Ratelimit-Remaining-Requests-Day", reset: "X-Ratelimit-Reset-Requests-Day",
				},
				{
					unit: throttle.Tokens, limit: "X-Ratelimit-Limit-Tokens-Minute",
					remaining: "X-Ratelimit-Remaining-Tokens-Minute", reset: "X-Ratelimit-Reset-Tokens-Minute",
				},
			},
		},
		{
			name: XAI, hosts: []string{"x.ai"},
			rules: []rule{{status: statuses(tooMany, forbidden), text: "used all available credits|spending limit", verdict: adaptive.Terminal}},
		},
		{name: Perplexity, hosts: []string{"perplexity.ai"}},
		{name: Voyage, hosts: []string{"voyageai.com"}},
		{name: Jina, hosts: []string{"jina.ai"}},
		{ // a full queue: https://github.com/ollama/ollama/pull/4144; its cloud answers 429
			name: Ollama, hosts: []string{"ollama.com"},
			rules: []rule{{status: statuses(unavailable), verdict: adaptive.Overloaded}},
		},
		{ // https://exa.ai/docs/admin/error-codes, read in November 2026
			name: Exa, hosts: []string{"exa.ai"},
			rules: []rule{{status: statuses(unavailable), verdict: adaptive.Overloaded}},
		},
		{name: HuggingFace, hosts: []string{"huggingface.co", "hf.co"}, marks: []string{"X-Repo-Commit"}},
	}
}

// mistral sends no reset: the end of the minute is not known.
func mistral() speaker {
	return speaker{
		name:  Mistral,
		hosts: []string{"mistral.ai"},
		marks: []string{"X-Ratelimit-Limit-Req-Minute", "X-Ratelimit-Tokens-Query-Cost"},
		shape: func(d *document) bool { return d.shape.all(hasObjectError | hasParam) },
		gauges: []gauge{
			{unit: throttle.Requests, limit: "X-Ratelimit-Limit-Req-Minute", remaining: "X-Ratelimit-Remaining-Req-Minute"},
			{unit: throttle.Tokens, limit: "X-Ratelimit-Limit-Tokens-Minute", remaining: "X-Ratelimit-Remaining-Tokens-Minute"},
		},
		rules: []rule{{status: statuses(unavailable), verdict: adaptive.Overloaded}},
		used: func(a *answer) throttle.Cost {
			c := a.doc.usage.tokens()
			if n, ok := whole(first(a.header, "X-Ratelimit-Tokens-Query-Cost")); ok && n > 0 {
				c.Tokens = n // what it has charged
			}
			return c
		},
	}
}

// groq sends OpenAI's fields, but requests are per day; its bucket refills all
// day long, so the reset says how fast. What comes from its cache is not counted.
func groq() speaker {
	return speaker{
		name:   Groq,
		hosts:  []string{"groq.com"},
		marks:  []string{"X-Groq-Region", "X-Groq-Request-Id"},
		gauges: openAIGauges()[:2],
		rules: []rule{
			{status: statuses(statusCapacity, unavailable), verdict: adaptive.Overloaded},
		},
		used: func(a *answer) throttle.Cost { return a.doc.usage.fresh() },
	}
}

func bedrock() speaker {
	const (
		throttled = "throttlingexception"
		noQuota   = "servicequotaexceededexception"
		full      = "serviceunavailableexception"
		failed    = "modelnotreadyexception modeltimeoutexception internalserverexception modelstreamerrorexception modelerrorexception"
	)
	return speaker{
		name:  Bedrock,
		hosts: []string{"bedrock*.amazonaws.com"},
		marks: []string{"X-Amzn-Bedrock-Input-Token-Count"},
		shape: func(d *document) bool {
			return d.shape.all(hasAWSType) || has(d, throttled+" "+noQuota+" "+full+" "+failed)
		},
		rules: []rule{
			{code: throttled, verdict: adaptive.Hit, kind: adaptive.KindRequests, when: func(a *answer) bool {
				return a.says("too many requests")
			}},
			{code: throttled, verdict: adaptive.Hit},
			{code: noQuota, verdict: adaptive.Terminal},
			{code: full, verdict: adaptive.Overloaded},
			{code: failed, verdict: adaptive.Transient},
			{status: statuses(http.StatusFailedDependency), verdict: adaptive.Transient},
			{status: statuses(unavailable), verdict: adaptive.Overloaded},
		},
		used: func(a *answer) throttle.Cost {
			return orHeader(a.doc.usage.all(), a.header, "X-Amzn-Bedrock-Input-Token-Count", "X-Amzn-Bedrock-Output-Token-Count")
		},
		charge: chargeReserved,
	}
}

func openRouter() speaker {
	return speaker{
		name:  OpenRouter,
		hosts: []string{"openrouter.ai"},
		shape: func(d *document) bool {
			return d.shape.all(hasProviderCode) || d.shape.all(hasMetadata|hasStatusNumber)
		},
		rules: []rule{
			{code: "weight_exceeds_budget", verdict: adaptive.OK}, // one call dearer than all that may be in flight
			{code: "in_flight_budget_exhausted", verdict: adaptive.Hit, kind: adaptive.KindConcurrency},
			{status: statuses(http.StatusBadGateway, unavailable), verdict: adaptive.Overloaded},
		},
	}
}

func fireworks() speaker {
	return speaker{
		name:  Fireworks,
		hosts: []string{"fireworks.ai"},
		marks: []string{"X-Ratelimit-Limit-Tokens-Prompt", "Fireworks-Prompt-Tokens"},
		gauges: []gauge{
			{unit: throttle.Requests, limit: "X-Ratelimit-Limit-Requests", remaining: "X-Ratelimit-Remaining-Requests"},
			{unit: throttle.InputTokens, limit: "X-Ratelimit-Limit-Tokens-Prompt", remaining: "X-Ratelimit-Remaining-Tokens-Prompt"},
			{
				unit: throttle.InputTokens, limit: "X-Ratelimit-Limit-Tokens-Cache-Adjusted-Prompt",
				remaining: "X-Ratelimit-Remaining-Tokens-Cache-Adjusted-Prompt",
			},
			{unit: throttle.OutputTokens, limit: "X-Ratelimit-Limit-Tokens-Generated", remaining: "X-Ratelimit-Remaining-Tokens-Generated"},
		},
		rules: []rule{{status: statuses(unavailable), text: "overloaded", verdict: adaptive.Overloaded}},
		used: func(a *answer) throttle.Cost {
			return orHeader(a.doc.usage.tokens(), a.header, "Fireworks-Prompt-Tokens", "")
		},
	}
}

// orHeader fills in from header fields what the body did not contain.
func orHeader(c throttle.Cost, h http.Header, input, output string) throttle.Cost {
	if n, ok := whole(first(h, input)); ok && c.Input == 0 {
		c.Input = n
	}
	if n, ok := whole(first(h, output)); ok && c.Output == 0 {
		c.Output = n
	}
	return c
}
