package dialect

import (
	"net/http"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// anthropic follows https://platform.claude.com/docs/en/api/rate-limits, read in 2026. A reset is the time at which a bucket is
// full again; remaining tokens are rounded to thousands.
func anthropic() speaker {
	return speaker{
		name:  Anthropic,
		hosts: []string{"anthropic.com"},
		marks: []string{"Anthropic-Organization-Id", "Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Tokens-Limit"},
		shape: func(d *document) bool { return d.shape.all(hasTypeError) },
		gauges: []gauge{
			anthropicGauge(throttle.Requests, "Ratelimit-Requests"),
			anthropicGauge(throttle.Tokens, "Ratelimit-Tokens"), // whichever limit is the tightest now
			anthropicGauge(throttle.InputTokens, "Ratelimit-Input-Tokens"),
			anthropicGauge(throttle.OutputTokens, "Ratelimit-Output-Tokens"),
			anthropicGauge(throttle.InputTokens, "Fast-Input-Tokens"),
			anthropicGauge(throttle.OutputTokens, "Fast-Output-Tokens"),
			// Not the Priority Tier: what finds it empty goes to the standard tier.
		},
		rules: []rule{
			{ // the customer's own spend limit
				status: statuses(http.StatusBadRequest, tooMany), verdict: adaptive.Terminal,
				when: func(a *answer) bool { return a.begins("you have reached your specified") },
			},
			{ // a prepaid balance
				status: statuses(http.StatusBadRequest, tooMany), verdict: adaptive.Terminal,
				when: func(a *answer) bool { return a.begins("your credit balance is too low") },
			},
			{code: "billing_error", verdict: adaptive.Terminal},
			{status: statuses(tooMany), text: "acceleration|usage increase rate", verdict: adaptive.Hit, slow: true},
			{code: "enforced_spend_limit_reached", verdict: adaptive.Terminal}, // its type is rate_limit_error
			{code: "rate_limit_error", verdict: adaptive.Hit},
			{code: "api_error timeout_error", verdict: adaptive.Transient},
		},
		used: func(a *answer) throttle.Cost { return a.doc.usage.uncached() },
	}
}

func anthropicGauge(unit throttle.Unit, name string) gauge {
	return gauge{
		unit: unit, limit: "Anthropic-" + name + "-Limit",
		remaining: "Anthropic-" + name + "-Remaining", reset: "Anthropic-" + name + "-Reset",
	}
}
