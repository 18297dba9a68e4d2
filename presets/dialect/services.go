package dialect

import (
	"net/http"
	"strings"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// services are the interfaces of everything but models, by what their pages
// said in 2026.
func services() []speaker {
	return []speaker{
		gitHub(), stripe(), shopify(),
		{
			name: Slack, hosts: []string{"slack.com"}, marks: []string{"X-Slack-Req-Id"},
			shape: func(d *document) bool { return d.failed && d.shape.all(hasOK) },
			rules: []rule{{code: "ratelimited rate_limited", verdict: adaptive.Hit}},
		},
		{
			name: Notion, hosts: []string{"notion.com"}, marks: []string{"X-Notion-Request-Id"},
			shape: func(d *document) bool { return d.shape.all(hasObjectError | hasStatusNumber) },
			rules: []rule{{status: statuses(unavailable), verdict: adaptive.Overloaded}},
		},
		{
			name:  Wikimedia,
			hosts: []string{"wikipedia.org", "wikimedia.org", "wikidata.org", "mediawiki.org", "wiktionary.org"},
			marks: []string{"Mediawiki-Api-Error"},
			shape: func(d *document) bool { return has(d, "maxlag") },
			rules: []rule{
				{code: "ratelimited", verdict: adaptive.Hit}, // with status 200
				{code: "maxlag", verdict: adaptive.Overloaded},
			},
		},
		{
			name: Crossref, hosts: []string{"crossref.org"},
			marks: []string{"X-Rate-Limit-Interval", "X-Api-Pool"},
			waits: []string{"X-Rate-Limit-Interval"},
		},
		{
			name: Arxiv, hosts: []string{"arxiv.org"},
			rules: []rule{{status: statuses(tooMany, unavailable), verdict: adaptive.Hit, wait: 3 * time.Second}},
		},
		{name: SemanticScholar, hosts: []string{"semanticscholar.org"}},
		{
			name: NCBI, hosts: []string{"eutils.ncbi.nlm.nih.gov"},
			rules: []rule{{text: "api rate limit exceeded", verdict: adaptive.Hit, kind: adaptive.KindRequests}},
		},
		{ // a person has to look at it: the policy was not kept
			name: Nominatim, hosts: []string{"nominatim.openstreetmap.org"},
			rules: []rule{{status: statuses(forbidden, tooMany), verdict: adaptive.Terminal}},
		},
	}
}

// gitHub's limits come as 403 as well as 429, so do missing permissions:
// https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api.
func gitHub() speaker {
	limited := statuses(forbidden, tooMany)
	return speaker{
		name:  GitHub,
		hosts: []string{"github.com"},
		marks: []string{"X-Github-Request-Id", "X-Github-Media-Type", "X-Ratelimit-Resource"},
		shape: func(d *document) bool { return d.shape.all(hasDocumentation) },
		gauges: []gauge{{
			unit: throttle.Requests, limit: "X-Ratelimit-Limit", remaining: "X-Ratelimit-Remaining", reset: "X-Ratelimit-Reset",
		}},
		rules: []rule{
			{status: limited, when: func(a *answer) bool { return a.reading.empty }, verdict: adaptive.Hit},
			{status: limited, text: "api rate limit exceeded", verdict: adaptive.Hit, wait: time.Minute}, // with its fields removed by a proxy
			{status: limited, text: "secondary rate limit|abuse detection", verdict: adaptive.Hit, wait: time.Minute},
			{status: limited, verdict: adaptive.Hit, wait: time.Minute, when: func(a *answer) bool {
				return first(a.header, "Retry-After") != ""
			}},
		},
		charge: chargePoints,
	}
}

// stripe says in a header which of its limits it was:
// https://docs.stripe.com/rate-limits.
func stripe() speaker {
	const reason = "Stripe-Rate-Limited-Reason"
	because := func(suffix string) func(*answer) bool {
		return func(a *answer) bool { return strings.HasSuffix(first(a.header, reason), suffix) }
	}
	return speaker{
		name:  Stripe,
		hosts: []string{"stripe.com"},
		marks: []string{reason, "Stripe-Should-Retry", "Stripe-Version"},
		rules: []rule{
			{status: statuses(tooMany), when: because("-concurrency"), verdict: adaptive.Hit, kind: adaptive.KindConcurrency},
			{status: statuses(tooMany), when: because("-rate"), verdict: adaptive.Hit, kind: adaptive.KindRequests},
			{status: statuses(tooMany), code: "lock_timeout", verdict: adaptive.Transient, when: func(a *answer) bool {
				return first(a.header, reason) == ""
			}},
		},
	}
}

// shopify has two limits: on calls, in a header, and on points, in the body of
// GraphQL, which answers 200: https://shopify.dev/docs/api/usage/limits.
func shopify() speaker {
	return speaker{
		name:   Shopify,
		hosts:  []string{"myshopify.com"},
		marks:  []string{"X-Shopify-Shop-Api-Call-Limit"},
		shape:  func(d *document) bool { return d.cost.known || d.shape.all(hasExtensions) && has(d, "throttled") },
		gauges: []gauge{{unit: throttle.Requests, share: "X-Shopify-Shop-Api-Call-Limit"}},
		rules:  []rule{{status: statuses(http.StatusOK, tooMany), code: "throttled", verdict: adaptive.Hit}},
		used:   func(a *answer) throttle.Cost { return throttle.Cost{Points: a.doc.cost.actual} },
	}
}
