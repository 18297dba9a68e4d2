package providertest

import (
	"net/http"
	"strconv"
	"time"
)

// openAI follows the guides on rate limits and error codes at
// developers.openai.com, read in July 2026.
func openAI() speech {
	return speech{
		requestID: "X-Request-Id",
		errorType: jsonType,
		limits: func(h http.Header, a advice) {
			openAILimits(h, a, func(reset time.Duration) string {
				return (time.Duration(ceil(reset, time.Millisecond)) * time.Millisecond).String()
			})
		},
		failure: func(f *failure, _ time.Duration) any { return f },
		total:   sum,
		reserve: func(input, output int) int { return max(input, output) },
	}
}

// openAILimits sets the fields that OpenAI and its imitators share.
func openAILimits(h http.Header, a advice, reset func(time.Duration) string) {
	fields := func(unit string, q quota) {
		set(h, "X-Ratelimit-Limit-"+unit, q.limit)
		set(h, "X-Ratelimit-Remaining-"+unit, q.remaining)
		h.Set("X-Ratelimit-Reset-"+unit, reset(q.reset))
	}
	if a.hasQuota {
		fields("Requests", a.quota)
	}
	if q := a.tokens[0]; q.limit > 0 {
		fields("Tokens", q)
	}
}

// azure declares resets in whole seconds and reserves the prompt as well.
func azure() speech {
	s := openAI()
	s.requestID = "Apim-Request-Id"
	s.reserve = sum
	s.limits = func(h http.Header, a advice) {
		h.Set("Azureml-Model-Session", "test")
		openAILimits(h, a, func(reset time.Duration) string {
			return strconv.FormatInt(ceil(reset, time.Second), 10)
		})
	}
	s.failure = func(f *failure, _ time.Duration) any {
		code := f.code
		if f.cause != badRequest && f.cause != moneyGone {
			code = strconv.Itoa(f.status)
		}
		return map[string]any{"error": map[string]string{"code": code, "message": f.message}}
	}
	return s
}

// groq refuses what is too large with a status of its own.
func groq() speech {
	s := openAI()
	limits := s.limits
	s.limits = func(h http.Header, a advice) {
		h.Set("X-Groq-Region", "test")
		limits(h, a)
	}
	s.refusal = func(c cause) (int, bool) { return http.StatusRequestEntityTooLarge, c == tooLarge }
	s.failure = func(f *failure, _ time.Duration) any {
		return map[string]any{"error": map[string]string{"message": f.message, "type": f.kind, "code": f.code}}
	}
	return s
}

// mistral declares no reset, but what a call was charged.
func mistral() speech {
	return speech{
		requestID: "X-Request-Id",
		errorType: jsonType,
		limits: func(h http.Header, a advice) {
			if a.hasQuota {
				set(h, "X-Ratelimit-Limit-Req-Minute", a.quota.limit)
				set(h, "X-Ratelimit-Remaining-Req-Minute", a.quota.remaining)
			}
			if q := a.tokens[0]; q.limit > 0 {
				set(h, "X-Ratelimit-Limit-Tokens-Minute", q.limit)
				set(h, "X-Ratelimit-Remaining-Tokens-Minute", q.remaining)
			}
			set(h, "X-Ratelimit-Tokens-Query-Cost", a.charged.Total)
		},
		refusal: paymentRequired,
		failure: func(f *failure, _ time.Duration) any {
			kind, code := f.kind, f.code
			switch f.cause {
			case tooManyRequests, tooManyTokens, tooManyInFlight, tooLarge:
				kind, code = "rate_limited", "1300"
			case moneyGone:
				kind, code = "payment_required", ""
			case badRequest, overloaded, serverFault:
			}
			return map[string]any{
				"object": "error", "message": f.message, "type": kind, "param": orNull(f.param), "code": orNull(code),
			}
		},
		total: sum,
	}
}
