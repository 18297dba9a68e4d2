package dialect

import (
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// openAI follows https://developers.openai.com/api/docs/guides/rate-limits and
// .../guides/error-codes, read in July 2026.
func openAI() speaker {
	return speaker{
		name:   OpenAI,
		hosts:  []string{"openai.com"},
		marks:  []string{"Openai-Organization", "Openai-Processing-Ms", "Openai-Version", "X-Ratelimit-Limit-Requests", "X-Ratelimit-Limit-Tokens"},
		shape:  func(d *document) bool { return d.shape.all(hasParam) },
		gauges: openAIGauges(),
		rules: []rule{
			{status: statuses(unavailable), text: "overloaded", code: "server_is_overloaded", verdict: adaptive.Overloaded},
		},
		charge: chargeLarger,
	}
}

// openAIGauges are the fields that many others have taken over. Their reset
// is when the bucket is full again.
func openAIGauges() []gauge {
	return []gauge{
		{
			unit: throttle.Requests, limit: "X-Ratelimit-Limit-Requests",
			remaining: "X-Ratelimit-Remaining-Requests", reset: "X-Ratelimit-Reset-Requests",
		},
		{
			unit: throttle.Tokens, limit: "X-Ratelimit-Limit-Tokens",
			remaining: "X-Ratelimit-Remaining-Tokens", reset: "X-Ratelimit-Reset-Tokens",
		},
		{ // sent only where a project has a limit of its own
			unit: throttle.Tokens, limit: "X-Ratelimit-Limit-Project-Tokens",
			remaining: "X-Ratelimit-Remaining-Project-Tokens", reset: "X-Ratelimit-Reset-Project-Tokens",
		},
	}
}

// azure follows https://learn.microsoft.com/azure/ai-services/openai and what
// its errors say, read in October 2026. Its resets are whole seconds.
func azure() speaker {
	return speaker{
		name:  Azure,
		hosts: []string{"openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"},
		marks: []string{"Azureml-Model-Session", "X-Rate-Limit-Reset-Tokens"},
		gauges: append(openAIGauges()[:2], gauge{ // a spelling that 429s have been seen with
			unit: throttle.Tokens, limit: "X-Ratelimit-Limit-Tokens",
			remaining: "X-Ratelimit-Remaining-Tokens", reset: "X-Rate-Limit-Reset-Tokens",
		}),
		waits: []string{"X-Rate-Limit-Reset-Tokens"},
		rules: []rule{
			{status: statuses(tooMany), text: "token budget", verdict: adaptive.OK},
			{status: statuses(tooMany), text: "temporary rate limit adjustment|temporarily adjusted", verdict: adaptive.Overloaded},
			{status: statuses(tooMany), text: "high demand", verdict: adaptive.Overloaded},
			{status: statuses(unavailable), verdict: adaptive.Overloaded},
		},
		charge: chargeBestOf,
	}
}
