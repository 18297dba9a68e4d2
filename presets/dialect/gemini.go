package dialect

import (
	"strings"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// soonEnough is up to which delay Gemini is believed when it says that a
// day's quota is used up and comes back in seconds.
const soonEnough = 2 * time.Minute

// gemini follows https://ai.google.dev/gemini-api/docs/rate-limits and the
// errors seen in October 2026. It has no headers; the body is a
// google.rpc.Status with the quotas that were violated and a delay.
func gemini() speaker {
	return speaker{
		name:  Gemini,
		hosts: []string{"generativelanguage.googleapis.com", "aiplatform.googleapis.com", "*-aiplatform.googleapis.com"},
		shape: func(d *document) bool {
			return d.shape.all(hasRPCDetails) || d.shape.all(hasUsageMetadata) || d.shape.all(hasStatusNumber) && has(d, "resource_exhausted unavailable")
		},
		rules: []rule{
			{status: statuses(tooMany), when: noQuota, verdict: adaptive.OK}, // the model is not for this tier
			{status: statuses(tooMany), verdict: adaptive.Hit, when: func(a *answer) bool {
				return a.doc.quota.perMinute && a.doc.retryKnown
			}},
			{status: statuses(tooMany), verdict: adaptive.Hit, when: func(a *answer) bool {
				return a.doc.quota.perDay && a.doc.retryKnown && a.doc.retry < soonEnough
			}},
			{status: statuses(tooMany), verdict: adaptive.Terminal, when: func(a *answer) bool { return a.doc.quota.perDay }},
			{status: statuses(tooMany), text: "spend", verdict: adaptive.Hit, slow: true, wait: time.Minute}, // counted over ten minutes
			{status: statuses(unavailable), verdict: adaptive.Overloaded},
		},
		used:   func(a *answer) throttle.Cost { return a.doc.usage.input() },
		charge: chargeInput,
	}
}

// noQuota reports whether the quota is 0, and not just what is left of it.
func noQuota(a *answer) bool {
	if a.doc.quota.none {
		return true
	}
	for text := a.doc.message; ; {
		_, rest, found := strings.Cut(text, "limit: 0")
		if !found {
			return false
		}
		if rest == "" || (rest[0] < '0' || rest[0] > '9') && !fraction(rest) {
			return true
		}
		text = rest
	}
}

func fraction(rest string) bool {
	return len(rest) > 1 && rest[0] == '.' && rest[1] >= '0' && rest[1] <= '9'
}
