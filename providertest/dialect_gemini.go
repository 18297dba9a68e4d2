package providertest

import (
	"net/http"
	"strconv"
	"time"
)

// gemini follows ai.google.dev/gemini-api/docs/rate-limits and the errors seen
// in October 2026: nothing in the header, all in a google.rpc.Status.
func gemini() speech {
	return speech{
		requestID: "X-Request-Id",
		errorType: jsonType,
		noWait:    true,
		limits:    func(http.Header, advice) {},
		refusal:   paymentRequired,
		failure: func(f *failure, told time.Duration) any {
			status := map[string]any{"code": f.status, "message": f.message, "status": geminiStatus(f)}
			if details := geminiDetails(f.cause, told); len(details) > 0 {
				status["details"] = details
			}
			return map[string]any{"error": status}
		},
		total: func(input, _ int) int { return input },
	}
}

func geminiStatus(f *failure) string {
	switch f.cause {
	case tooManyRequests, tooManyTokens, tooManyInFlight, tooLarge, moneyGone:
		return "RESOURCE_EXHAUSTED"
	case overloaded:
		return "UNAVAILABLE"
	case serverFault:
		return "INTERNAL"
	case badRequest:
	}
	if f.status == http.StatusNotFound {
		return "NOT_FOUND"
	}
	return "INVALID_ARGUMENT"
}

// geminiDetails names the exhausted quota, and the wait if it is declared.
func geminiDetails(c cause, told time.Duration) (details []map[string]any) {
	metric, id := "", ""
	switch c {
	case tooManyRequests:
		metric, id = "generate_content_free_tier_requests", "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"
	case tooManyTokens:
		metric, id = "generate_content_free_tier_input_token_count", "GenerateContentInputTokensPerModelPerMinute-FreeTier"
	case badRequest, tooManyInFlight, tooLarge, moneyGone, overloaded, serverFault:
		return nil
	}
	details = append(details, map[string]any{
		"@type": "type.googleapis.com/google.rpc.QuotaFailure",
		"violations": []map[string]string{
			{"quotaMetric": "generativelanguage.googleapis.com/" + metric, "quotaId": id},
		},
	})
	if told > 0 {
		details = append(details, map[string]any{
			"@type":      "type.googleapis.com/google.rpc.RetryInfo",
			"retryDelay": strconv.FormatInt(ceil(told, time.Second), 10) + "s",
		})
	}
	return details
}
