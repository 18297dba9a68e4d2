package providertest

import (
	"net/http"
	"time"
)

// anthropic follows platform.claude.com/docs/en/api/rate-limits, copy of August
// 2026. Reserving max_tokens for the output is the stricter of two ways that
// its pages have described.
func anthropic() speech {
	return speech{
		requestID: "Request-Id",
		errorType: jsonType,
		limits:    anthropicLimits,
		refusal: func(c cause) (int, bool) {
			switch c {
			case overloaded:
				return statusOverloaded, true
			case moneyGone:
				return http.StatusBadRequest, true
			case badRequest, tooManyRequests, tooManyTokens, tooManyInFlight, tooLarge, serverFault:
			}
			return 0, false
		},
		failure: func(f *failure, _ time.Duration) any {
			kind, message := anthropicError(f)
			return map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": message}}
		},
		total: sum,
	}
}

// anthropicError returns the type and the text of an error.
func anthropicError(f *failure) (kind, message string) {
	switch f.cause {
	case tooManyRequests, tooManyTokens, tooManyInFlight, tooLarge:
		return "rate_limit_error", f.message
	case moneyGone:
		return "invalid_request_error", "You have reached your specified API usage limits."
	case overloaded:
		return "overloaded_error", "Overloaded"
	case serverFault:
		return "api_error", f.message
	case badRequest:
	}
	switch f.status {
	case http.StatusNotFound:
		return "not_found_error", f.message
	case http.StatusRequestEntityTooLarge:
		return "request_too_large", f.message
	}
	return "invalid_request_error", f.message
}

func anthropicLimits(h http.Header, a advice) {
	fields := func(unit string, q quota) {
		set(h, "Anthropic-Ratelimit-"+unit+"-Limit", q.limit)
		set(h, "Anthropic-Ratelimit-"+unit+"-Remaining", q.remaining)
		full := a.at.Add(q.reset + time.Second - 1).Truncate(time.Second)
		h.Set("Anthropic-Ratelimit-"+unit+"-Reset", full.UTC().Format(time.RFC3339))
	}
	if a.hasQuota {
		fields("Requests", a.quota)
	}
	var tightest quota
	for i, unit := range [...]string{"Tokens", "Input-Tokens", "Output-Tokens"} {
		q := a.tokens[i]
		if q.limit == 0 {
			continue
		}
		q.remaining = min(q.limit, (q.remaining+500)/1000*1000)
		if tightest.limit == 0 || q.remaining < tightest.remaining {
			tightest = q
		}
		fields(unit, q)
	}
	if tightest.limit > 0 {
		fields("Tokens", tightest)
	}
}
