package dialect

import (
	"net/http"
	"strings"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/quota"
)

// The statuses that the tables name most, and two that are not registered with IANA.
const (
	forbidden   = http.StatusForbidden
	tooMany     = http.StatusTooManyRequests
	unavailable = http.StatusServiceUnavailable

	statusCapacity   = 498 // Groq: the flex tier is full
	statusOverloaded = 529 // Anthropic and others: the whole service is full
)

// statuses keeps the tables short.
func statuses(s ...int) []int { return s }

// common returns the rules for answers that no provider's own rule covers: RFC 9110, the problem types of
// draft-ietf-httpapi-ratelimit-headers, and the codes that OpenAI-compatible services share.
func common() []rule {
	return []rule{
		{code: "abnormal-usage-detected", verdict: adaptive.Terminal}, // a person has to look at it
		{code: "temporary-reduced-capacity", verdict: adaptive.Overloaded},
		{code: quota.Codes, verdict: adaptive.Terminal},
		{code: "overloaded_error", verdict: adaptive.Overloaded}, // Anthropic's, also within a stream
		{status: statuses(http.StatusPaymentRequired), verdict: adaptive.Terminal},
		{status: statuses(tooMany), text: "api calls / month", verdict: adaptive.Terminal}, // Cohere's, which no field marks
		{status: statuses(tooMany), text: "request too large", when: notWithinLimit, verdict: adaptive.OK},
		{status: statuses(tooMany), when: largerThanLimit, verdict: adaptive.OK},
		{status: statuses(tooMany), verdict: adaptive.Hit},
		{status: statuses(statusOverloaded), verdict: adaptive.Overloaded},
		{status: statuses(unavailable), when: (*answer).tooSteep, verdict: adaptive.Overloaded},
		{
			status: statuses(unavailable), verdict: adaptive.Overloaded,
			when: func(a *answer) bool { return a.header.Get("Retry-After") != "" || a.header.Get("Retry-After-Ms") != "" },
		},
		{status: statuses(http.StatusRequestTimeout), verdict: adaptive.Transient},
		{verdict: adaptive.Transient, when: func(a *answer) bool { return a.status >= http.StatusInternalServerError }},
		{verdict: adaptive.OK},
	}
}

// largerThanLimit reports whether the message says that more was requested
// than the limit is: "Limit 30000, Requested 30601".
func largerThanLimit(a *answer) bool {
	requested, limit, ok := sizes(a)
	return ok && requested > limit
}

// notWithinLimit reports whether the message does not say that the request
// fits: "Limit 250000, Requested 546" fits once others have made room, though
// OpenAI has called such a one too large as well.
func notWithinLimit(a *answer) bool {
	requested, limit, ok := sizes(a)
	return !ok || requested > limit
}

// sizes are what was requested and what the limit is, if the message has both.
func sizes(a *answer) (requested, limit int64, ok bool) {
	limit, okLimit := numberAfter(a.doc.message, "limit ")
	requested, okRequested := numberAfter(a.doc.message, "requested ")
	return requested, limit, okLimit && okRequested
}

func numberAfter(text, lead string) (int64, bool) {
	for {
		_, rest, found := strings.Cut(text, lead)
		if !found {
			return 0, false
		}
		digits := 0
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
			digits++
		}
		if n, ok := whole(rest[:digits]); ok {
			return n, true
		}
		text = rest
	}
}

// tooSteep reports whether the provider says that the calls came in a ramp too
// steep, which is OpenAI's use of "slow down". With status 429 the words alone
// are what many say of any limit.
func (a *answer) tooSteep() bool {
	return has(&a.doc, "slow_down") || a.status == unavailable && a.says("slow down")
}

// kindSaid is which limit the body names: by the type of the error, as OpenAI
// does, or in words. "Too many requests" is the name of the status and no word.
func (a *answer) kindSaid() adaptive.Kind {
	for _, c := range a.doc.codes {
		switch c {
		case "requests":
			return adaptive.KindRequests
		case "tokens":
			return adaptive.KindTokens
		case "concurrency":
			return adaptive.KindConcurrency
		}
	}
	switch {
	case a.doc.quota.kind != adaptive.UnknownKind:
		return a.doc.quota.kind
	case a.says("concurren|in flight|in-flight"):
		return adaptive.KindConcurrency
	case a.says("tokens per|tokens / min|token rate limit|(tpm)|(tpd)|too many tokens|input tokens|output tokens"):
		return adaptive.KindTokens
	case a.says("requests per|requests / min|call rate limit|(rpm)|(rpd)|request rate"):
		return adaptive.KindRequests
	}
	return adaptive.UnknownKind
}

// shouldRetry is what the header x-should-retry says, by which the official
// SDKs go before any rule.
func (a *answer) shouldRetry() (again, told bool) {
	for _, name := range [...]string{"X-Should-Retry", "Stripe-Should-Retry"} {
		switch strings.ToLower(strings.TrimSpace(first(a.header, name))) {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	}
	return false, false
}
