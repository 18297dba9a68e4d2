package adaptive_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
)

// An error that is nothing but text is judged by what it says itself, in whole
// words, and not by what it quotes.
func TestErrorsThatAreOnlyText(t *testing.T) {
	for verdict, texts := range map[adaptive.Verdict][]string{
		adaptive.Hit: {
			"HTTP 429", "http status 429", "HTTP/1.1 429 Too Many Requests", "HTTP/2 429", "status code: 429", "status_code=429", "error code: 429 - {'error': 1}",
			"unexpected status: 429", "(status 429)", "429 too many requests", "Error 429, Message: no", "quota exceeded", "Quota exceeded for metric x",
			"You exceeded your current quota, please check", "the request was throttled", "Throttled.", "ThrottlingException: Rate exceeded", "TooManyRequestsException",
			"rate limit", "Rate-limited: wait", "the rate limit is reached", "you are being rate limited", "rate limits apply", "RateLimitError: x", "rateLimitExceeded",
			`{"type":"rate_limit_error"}`, `{"error":{"message":"no","code":"rate_limit_exceeded"}}`, `{'code': 'rate_limit_exceeded'}`, `{"code": 429}`,
			`model "gpt-4o": rate limit reached`, "the model's rate limit", "rpc error: RESOURCE_EXHAUSTED", "it's the 'gpt' rate limit",
		},
		adaptive.Overloaded: {`{"type":"overloaded_error"}`, "status 529", "HTTP 529", "overloaded_error: Overloaded"},
		adaptive.Terminal: {
			"insufficient_quota", `{"code":"insufficient_quota"}`, "code: billing_hard_limit_reached", "Your credit balance is too low to access the Anthropic API",
		},
		adaptive.Unclassified: {
			"corporate limited", "generate limit", "separate limits apply", "moderate rate limitation", "the crate limited it",
			`the answer is no JSON: "...separate limits..."`, `the answer is no JSON: "the rate limit is 5"`, `the answer is no JSON: "Status 429: \"rate limit\" too many requests`,
			"no JSON: `HTTP 429`", "no JSON: 'too many requests'", `unknown field "rate limit"`, `{"message":"how to deal with too many requests"}`,
			"status 1429", "status 4290", "connection reset, 429 bytes read", "the last status. 429 bytes", "at line 429", "HTTP proxy read 1 of 429",
			"rate. Limit", "write: disk quota exceeded", "throttle", "unthrottled", "insufficient_quota_total", "",
		},
	} {
		for _, text := range texts {
			assert.Equal(t, verdict, adaptive.DefaultDetector(errors.New(text)).Verdict, text)
		}
	}
}
