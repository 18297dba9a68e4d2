package providertest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// ietf follows draft-ietf-httpapi-ratelimit-headers-11. Its quota units have no
// tokens, so limits on tokens stay hidden.
func ietf() speech {
	return speech{
		requestID: "X-Request-Id",
		errorType: "application/problem+json",
		limits: func(h http.Header, a advice) {
			if a.hasQuota {
				h.Set("Ratelimit-Policy", fmt.Sprintf(`"default";q=%d`, a.quota.limit))
				h.Set("Ratelimit", fmt.Sprintf(`"default";r=%d;t=%d`, a.quota.remaining, ceil(a.quota.reset, time.Second)))
			}
		},
		refusal: paymentRequired,
		failure: func(f *failure, _ time.Duration) any {
			problem := map[string]any{"title": f.message, "status": f.status}
			const types = "https://iana.org/assignments/http-problem-types#"
			switch f.cause {
			case tooManyRequests, tooManyTokens, tooManyInFlight:
				problem["type"] = types + "quota-exceeded"
				problem["violated-policies"] = []string{"default"}
			case overloaded:
				problem["type"] = types + "temporary-reduced-capacity"
			case badRequest, tooLarge, moneyGone, serverFault:
			}
			return problem
		},
		total: sum,
	}
}

// generic is what services without a guide send.
func generic() speech {
	return speech{
		requestID: "X-Request-Id",
		errorType: jsonType,
		limits: func(h http.Header, a advice) {
			if a.hasQuota {
				set(h, "X-Ratelimit-Limit", a.quota.limit)
				set(h, "X-Ratelimit-Remaining", a.quota.remaining)
				set(h, "X-Ratelimit-Reset", int(ceil(a.quota.reset, time.Second)))
			}
		},
		refusal: paymentRequired,
		failure: func(f *failure, _ time.Duration) any {
			return map[string]string{"message": strings.TrimSuffix(f.message, ".")}
		},
		total: sum,
	}
}

func paymentRequired(c cause) (int, bool) { return http.StatusPaymentRequired, c == moneyGone }
