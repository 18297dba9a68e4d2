package dialect_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// What providers send and what a client must make of it: both typed by hand
// from the facts, without reading the code under test.

type meters = [throttle.Units]adaptive.Meter

const (
	anyKind adaptive.Kind = 255 // the answer does not say, and the facts leave it open
	ms                    = time.Millisecond
	s                     = time.Second
)

// arrival is when every answer of the table comes in: 1795202403 by the clock of Unix.
func arrival() time.Time { return time.Date(2026, time.November, 20, 19, 20, 3, 0, time.UTC) }

func left(remaining, limit int64, reset time.Duration) adaptive.Meter {
	return adaptive.Meter{Known: true, Limit: limit, Remaining: remaining, Reset: reset}
}

// known is one answer. RetryAfter and Kind are expected of refusals only: of
// other answers they are not read.
type known struct {
	name    string
	by      dialect.Name
	auto    bool // the sender is obvious
	status  int
	header  string // lines as on the wire
	body    string
	verdict adaptive.Verdict
	kind    adaptive.Kind
	after   time.Duration
	slow    bool
	final   bool // refused, and not to be sent again
	meters  meters
	used    throttle.Cost
}

func answers() []known {
	return []known{
		// OpenAI: durations as Go writes them; reset is the time until full.
		{
			name: "openai, success", by: dialect.OpenAI, auto: true, status: 200, verdict: adaptive.OK,
			header: "openai-version: 2020-10-01\nx-request-id: req_a1\nx-ratelimit-limit-requests: 500\nx-ratelimit-limit-tokens: 200000\nx-ratelimit-remaining-requests: 499\n" +
				"x-ratelimit-remaining-tokens: 199100\nx-ratelimit-reset-requests: 120ms\nx-ratelimit-reset-tokens: 270ms",
			body: `{"id":"chatcmpl-1","object":"chat.completion","model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},` +
				`"finish_reason":"stop"}],"usage":{"prompt_tokens":812,"completion_tokens":88,"total_tokens":900}}`,
			meters: meters{throttle.Requests: left(499, 500, 120*ms), throttle.Tokens: left(199100, 200000, 270*ms)},
			used:   throttle.Cost{Input: 812, Output: 88, Tokens: 900},
		},
		{
			name: "openai, the Responses API counts input and output", by: dialect.OpenAI, status: 200, verdict: adaptive.OK,
			header: "x-ratelimit-limit-requests: 5000\nx-ratelimit-remaining-requests: 4999\nx-ratelimit-reset-requests: 12ms",
			body:   `{"id":"resp_1","object":"response","status":"completed","usage":{"input_tokens":36,"output_tokens":87,"output_tokens_details":{"reasoning_tokens":64},"total_tokens":123}}`,
			meters: meters{throttle.Requests: left(4999, 5000, 12*ms)},
			used:   throttle.Cost{Input: 36, Output: 87, Tokens: 123},
		},
		{
			name: "openai, tokens per minute", by: dialect.OpenAI, auto: true, status: 429, verdict: adaptive.Hit, kind: adaptive.KindTokens, after: 1210 * ms,
			header: "openai-organization: org-a\nretry-after: 2\nretry-after-ms: 1210\nx-ratelimit-limit-requests: 500\nx-ratelimit-limit-tokens: 30000\n" +
				"x-ratelimit-remaining-requests: 480\nx-ratelimit-remaining-tokens: 605\nx-ratelimit-reset-requests: 2.4s\nx-ratelimit-reset-tokens: 58.79s",
			body:   `{"error":{"message":"Rate limit reached for gpt-4o in organization org-a on tokens per min (TPM): Limit 30000, Used 29395, Requested 1210.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
			meters: meters{throttle.Requests: left(480, 500, 2400*ms), throttle.Tokens: left(605, 30000, 58790*ms)},
		},
		{
			name: "openai, requests, and the SDK kept the error object alone", by: dialect.OpenAI, status: 429, verdict: adaptive.Hit, kind: adaptive.KindRequests, after: 9 * s,
			header: "retry-after: 9\nx-ratelimit-limit-requests: 10000\nx-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 6m0s",
			body:   `{"message":"Rate limit reached for gpt-4o-mini in organization org-a on requests per day (RPD): Limit 10000, Used 10000, Requested 1.","type":"requests","param":null,"code":"rate_limit_exceeded"}`,
			meters: meters{throttle.Requests: left(0, 10000, 6*time.Minute)},
		},
		{name: "openai, a 429 and nothing else", by: dialect.OpenAI, status: 429, verdict: adaptive.Hit},
		{
			name: "openai, the ramp was too steep", by: dialect.OpenAI, status: 429, verdict: adaptive.Hit, kind: anyKind, slow: true,
			body: `{"error":{"message":"Slow down. Your request rate rose too quickly.","type":"requests","param":null,"code":"slow_down"}}`,
		},
		{
			name: "openai, 503 slow down", by: dialect.OpenAI, status: 503, verdict: adaptive.Overloaded, slow: true,
			body: `{"error":{"message":"Slow Down: reduce your request rate to its earlier level.","type":"service_unavailable_error","param":null,"code":null}}`,
		},
		{
			name: "openai, 503 overloaded", by: dialect.OpenAI, status: 503, verdict: adaptive.Overloaded, after: 4 * s,
			header: "retry-after: 4",
			body:   `{"error":{"message":"The engine is currently overloaded, please try again later.","type":"server_error","param":null,"code":"server_is_overloaded"}}`,
		},
		{
			name: "openai, quota, as older bodies say it", by: dialect.OpenAI, auto: true, status: 429, verdict: adaptive.Terminal,
			header: "openai-organization: org-a\nx-should-retry: false", // which fails the item only: the key is what is empty
			body:   `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
		},
		{
			name: "openai, credits, the error object alone", by: dialect.OpenAI, status: 429, verdict: adaptive.Terminal,
			body: `{"message":"Your credit balance is used up.","type":"insufficient_quota","param":null,"code":"credit_balance_exhausted"}`,
		},
		{
			name: "openai, the project's own budget", by: dialect.OpenAI, status: 429, verdict: adaptive.Terminal,
			header: "retry-after: 20", // does not make it worth a retry
			body:   `{"error":{"message":"This project has reached its spend limit.","type":"insufficient_quota","param":null,"code":"project_spend_limit_exceeded"}}`,
		},
		{
			name: "openai, a request larger than the limit", by: dialect.OpenAI, status: 429, verdict: adaptive.OK,
			header: "x-ratelimit-limit-tokens: 30000\nx-ratelimit-remaining-tokens: 30000\nx-ratelimit-reset-tokens: 0s",
			body: `{"error":{"message":"Request too large for gpt-4o in organization org-a on tokens per min (TPM): Limit 30000, Requested 30601. The input or output tokens must be reduced.",` +
				`"type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
			meters: meters{throttle.Tokens: left(30000, 30000, 0)},
		},
		{ // seen in February 2025: https://github.com/UKGovernmentBEIS/inspect_ai/pull/1396
			name: "openai, called too large though it fits", by: dialect.OpenAI, status: 429, verdict: adaptive.Hit, kind: adaptive.KindTokens,
			body: `{"error":{"message":"Request too large for organization org-a on tokens per min (TPM): Limit 250000, Requested 546. The input or output tokens must be reduced.",` +
				`"type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
		},
		{
			name: "openai, requested above limit in other words", by: dialect.OpenAI, status: 429, verdict: adaptive.OK,
			body: `{"error":{"message":"Rate limit reached for gpt-4.1 on tokens per min (TPM): Limit 30000, Used 0, Requested 37313.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
		},
		{
			name: "openai, asked not to retry", by: dialect.OpenAI, status: 429, verdict: adaptive.Hit, kind: adaptive.KindRequests, final: true,
			header: "x-should-retry: false",
			body:   `{"error":{"message":"Rate limit reached.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`,
		},
		{name: "openai, asked not to retry a 500", by: dialect.OpenAI, status: 500, verdict: adaptive.OK, header: "X-Should-Retry: false"},
		{
			name: "openai, asked to retry a 409", by: dialect.OpenAI, status: 409, verdict: adaptive.Transient,
			header: "x-should-retry: true", body: `{"error":{"message":"Try again.","type":"invalid_request_error","param":null,"code":null}}`,
		},
		{name: "openai, 500", by: dialect.OpenAI, status: 500, verdict: adaptive.Transient, body: `{"error":{"message":"The server had an error.","type":"server_error","param":null,"code":null}}`},
		{
			name: "openai, a plain mistake", by: dialect.OpenAI, status: 400, verdict: adaptive.OK,
			body: `{"error":{"message":"Unknown parameter: 'rate_limit'.","type":"invalid_request_error","param":"rate_limit","code":"unknown_parameter"}}`,
		},

		{
			name: "openai, quota, and the body was cut off", by: dialect.OpenAI, status: 429, verdict: adaptive.Terminal,
			body: `{"error":{"message":"You exceeded your current quota, please check your plan","type":"insufficient_quota","par`,
		},
		{name: "openai, a proxy answered", by: dialect.OpenAI, status: 429, verdict: adaptive.Hit, kind: anyKind, after: 3 * s, header: "Retry-After: 3", body: "<html>429 Too Many Requests</html>"},

		{
			name: "openai, usage after half a megabyte of vectors", by: dialect.OpenAI, status: 200, verdict: adaptive.OK,
			body: `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[` + strings.Repeat("-0.0069292834,", 40_000) + `0]}],"model":"text-embedding-3-small","usage":{"prompt_tokens":8,"total_tokens":8}}`,
			used: throttle.Cost{Input: 8, Tokens: 8},
		},
		{
			// The facts say backoff where there is no Retry-After, but the text asks for a wait in so many words.
			name: "openai, the wait in the message alone", by: dialect.OpenAI, status: 429, verdict: adaptive.Hit, kind: adaptive.KindTokens, after: 1626 * ms,
			body: `{"error":{"message":"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 1813. Please try again in 1.626s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
		},
		{
			name: "openai, a stream's last word is the usage", by: dialect.OpenAI, status: 200, verdict: adaptive.OK,
			header: "content-type: text/event-stream",
			body: `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Yes."}}],"usage":null}` + "\n\n" +
				`data: {"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29}}` + "\n\ndata: [DONE]\n\n",
			used: throttle.Cost{Input: 19, Output: 10, Tokens: 29},
		},
		// Azure: the same names, seconds as resets, and its own wait in milliseconds.
		{
			name: "azure, calls", by: dialect.Azure, auto: true, status: 429, verdict: adaptive.Hit, kind: adaptive.KindRequests, after: 750 * ms,
			header: "apim-request-id: 7a\nx-ms-region: East US\nretry-after: 1\nretry-after-ms: 750\nx-ratelimit-limit-requests: 10\nx-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 1",
			body:   `{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation under Azure OpenAI API have exceeded call rate limit of your current OpenAI S0 pricing tier."}}`,
			meters: meters{throttle.Requests: left(0, 10, s)},
		},
		{
			name: "azure, tokens, and the other spelling of the reset", by: dialect.Azure, auto: true, status: 429, verdict: adaptive.Hit, kind: adaptive.KindTokens, after: 55 * s,
			header: "apim-request-id: 7b\npolicy-id: DeploymentRatelimit-Token\nx-ms-region: West US\nx-rate-limit-reset-tokens: 55\nx-ratelimit-remaining-requests: 8",
			body: `{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation under Azure OpenAI API have exceeded token rate limit of your current OpenAI S0 pricing tier. ` +
				`Please retry after 55 seconds."}}`,
		},
		{
			name: "azure, -1 means nothing is known", by: dialect.Azure, status: 200, verdict: adaptive.OK,
			header: "x-ms-region: Sweden Central\nx-ratelimit-limit-tokens: -1\nx-ratelimit-remaining-tokens: -1\nx-ratelimit-reset-tokens: 0\n" +
				"x-ratelimit-limit-requests: 1000\nx-ratelimit-remaining-requests: 997\nx-ratelimit-reset-requests: 1",
			body:   `{"id":"resp_2","object":"response","usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15}}`,
			meters: meters{throttle.Requests: left(997, 1000, s)},
			used:   throttle.Cost{Input: 10, Output: 5, Tokens: 15},
		},
		{
			name: "azure, everybody is too many", by: dialect.Azure, status: 429, verdict: adaptive.Overloaded, after: 20 * s,
			header: "retry-after: 20",
			body: `{"error":{"code":"too_many_requests","message":"The system is currently experiencing high demand and cannot process your request. ` +
				`Your request exceeds the maximum usage size allowed during peak load."}}`, // of the load, not of the limit: it can pass later
		},
		{
			name: "azure, the pool was lowered", by: dialect.Azure, status: 429, verdict: adaptive.Overloaded, after: 10 * s,
			header: "x-ms-region: East US 2\nretry-after: 10",
			body:   `{"error":{"code":"429","message":"A temporary rate limit adjustment is in effect for this deployment."}}`,
		},
		{
			name: "azure, larger than the bucket", by: dialect.Azure, status: 429, verdict: adaptive.OK,
			body: `{"error":{"code":"429","message":"Token budget exceeded by request parameters: lower max_tokens."}}`,
		},

		// Anthropic: times as RFC 3339, four meters.
		{
			name: "anthropic, success; reads of the cache are free", by: dialect.Anthropic, auto: true, status: 200, verdict: adaptive.OK,
			header: "request-id: req_01\nanthropic-ratelimit-requests-limit: 1000\nanthropic-ratelimit-requests-remaining: 999\nanthropic-ratelimit-requests-reset: 2026-11-20T19:20:04Z\n" +
				"anthropic-ratelimit-input-tokens-limit: 2000000\nanthropic-ratelimit-input-tokens-remaining: 1999000\nanthropic-ratelimit-input-tokens-reset: 2026-11-20T19:20:05Z\n" +
				"anthropic-ratelimit-output-tokens-limit: 400000\nanthropic-ratelimit-output-tokens-remaining: 400000\nanthropic-ratelimit-output-tokens-reset: 2026-11-20T19:20:03Z\n" +
				"anthropic-ratelimit-tokens-limit: 2400000\nanthropic-ratelimit-tokens-remaining: 2399000\nanthropic-ratelimit-tokens-reset: 2026-11-20T19:20:05Z",
			body: `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn",` +
				`"usage":{"input_tokens":25,"cache_creation_input_tokens":1000,"cache_read_input_tokens":9000,"output_tokens":150}}`,
			meters: meters{
				throttle.Requests: left(999, 1000, s), throttle.Tokens: left(2399000, 2400000, 2*s),
				throttle.InputTokens: left(1999000, 2000000, 2*s), throttle.OutputTokens: left(400000, 400000, 0),
			},
			used: throttle.Cost{Input: 1025, Output: 150, Tokens: 1175},
		},
		{
			name: "anthropic, input tokens", by: dialect.Anthropic, auto: true, status: 429, verdict: adaptive.Hit, kind: adaptive.KindTokens, after: 17 * s,
			header: "request-id: req_02\nretry-after: 17\nx-should-retry: true\nanthropic-ratelimit-input-tokens-limit: 30000\nanthropic-ratelimit-input-tokens-remaining: 0\n" +
				"anthropic-ratelimit-input-tokens-reset: 2026-11-20T19:21:03Z\nanthropic-ratelimit-requests-limit: 50\nanthropic-ratelimit-requests-remaining: 41\n" +
				"anthropic-ratelimit-requests-reset: 2026-11-20T19:20:14Z",
			body:   `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed the rate limit for your organization of 30,000 input tokens per minute."},"request_id":"req_02"}`,
			meters: meters{throttle.InputTokens: left(0, 30000, time.Minute), throttle.Requests: left(41, 50, 11*s)},
		},
		{
			name: "anthropic, acceleration", by: dialect.Anthropic, status: 429, verdict: adaptive.Hit, kind: anyKind, after: 5 * s, slow: true,
			header: "retry-after: 5",
			body:   `{"type":"error","error":{"type":"rate_limit_error","message":"Usage rose too sharply (acceleration limit). Scale up gradually."}}`,
		},
		{
			// Only the spend cap has no Retry-After, but proxies lose headers: without a word
			// about spending it is not worth closing a key over. MaxWait ends it.
			name: "anthropic, a bare 429", by: dialect.Anthropic, auto: true, status: 429, verdict: adaptive.Hit,
			body: `{"type":"error","error":{"type":"rate_limit_error","message":"Rate limited. Please try again later."},"request_id":"req_03"}`,
		},
		{
			name: "anthropic, spend cap", by: dialect.Anthropic, auto: true, status: 429, verdict: adaptive.Terminal,
			body: `{"type":"error","error":{"type":"rate_limit_error","message":"Monthly spend limit reached.","details":{"error_code":"enforced_spend_limit_reached"}},"request_id":"req_04"}`,
		},
		{
			name: "anthropic, own spend limit", by: dialect.Anthropic, auto: true, status: 400, verdict: adaptive.Terminal,
			body: `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}`,
		},
		{
			name: "anthropic, another 400", by: dialect.Anthropic, status: 400, verdict: adaptive.OK,
			body: `{"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one message is required"}}`,
		},
		{name: "anthropic, billing", by: dialect.Anthropic, status: 402, verdict: adaptive.Terminal, body: `{"type":"error","error":{"type":"billing_error","message":"Update your payment details."}}`},
		{
			name: "anthropic, overloaded", by: dialect.Anthropic, auto: true, status: 529, verdict: adaptive.Overloaded,
			header: "x-should-retry: true", body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_05"}`,
		},
		{name: "anthropic, 500", by: dialect.Anthropic, status: 500, verdict: adaptive.Transient, body: `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`},
		{name: "anthropic, 504", by: dialect.Anthropic, status: 504, verdict: adaptive.Transient, body: `{"type":"error","error":{"type":"timeout_error","message":"Timed out"}}`},

		{
			name: "anthropic, the workspace's spend limit as 429", by: dialect.Anthropic, status: 429, verdict: adaptive.Terminal,
			body: `{"type":"error","error":{"type":"rate_limit_error","message":"You have reached your specified workspace API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}`,
		},
		{
			name: "anthropic, overloaded in the middle of a stream", by: dialect.Anthropic, status: 200, verdict: adaptive.Overloaded,
			header: "content-type: text/event-stream",
			body:   "event: error\n" + `data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n",
		},
		{name: "anthropic, too many bytes", by: dialect.Anthropic, status: 413, verdict: adaptive.OK, body: `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`},

		{
			name: "anthropic, a stream tells its input first and its output last", by: dialect.Anthropic, status: 200, verdict: adaptive.OK,
			header: "content-type: text/event-stream",
			body: "event: message_start\n" + `data: {"type":"message_start","message":{"id":"msg_2","type":"message","usage":{"input_tokens":25,"output_tokens":1}}}` + "\n\n" +
				"event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}` + "\n\n",
			used: throttle.Cost{Input: 25, Output: 15, Tokens: 40},
		},
		// Gemini: no headers, everything is in the body.
		{
			name: "gemini, success", by: dialect.Gemini, auto: true, status: 200, verdict: adaptive.OK,
			body: `{"candidates":[{"content":{"parts":[{"text":"Yes."}],"role":"model"},"finishReason":"STOP"}],` +
				`"usageMetadata":{"promptTokenCount":120,"candidatesTokenCount":40,"thoughtsTokenCount":25,"totalTokenCount":185},"modelVersion":"gemini-3.5-flash"}`,
			used: throttle.Cost{Input: 120, Output: 65, Tokens: 120}, // its tokens per minute count input only
		},
		{
			name: "gemini, requests per minute", by: dialect.Gemini, auto: true, status: 429, verdict: adaptive.Hit, kind: adaptive.KindRequests, after: 46 * s,
			body: geminiError("Quota exceeded for metric: generate_content_free_tier_requests, limit: 10", "generate_content_free_tier_requests", "GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "10", "46s"),
		},
		{
			name: "gemini, tokens per minute", by: dialect.Gemini, auto: true, status: 429, verdict: adaptive.Hit, kind: adaptive.KindTokens, after: 22500 * ms,
			body: geminiError("Quota exceeded.", "generate_content_free_tier_input_token_count", "GenerateContentInputTokensPerModelPerMinute-FreeTier", "250000", "22.5s"),
		},
		{
			name: "gemini, per day, but back in seconds", by: dialect.Gemini, status: 429, verdict: adaptive.Hit, kind: adaptive.KindRequests, after: 22 * s,
			body: geminiError("Quota exceeded.", "generate_content_free_tier_requests", "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "250", "22s"),
		},
		{
			name: "gemini, per day", by: dialect.Gemini, auto: true, status: 429, verdict: adaptive.Terminal,
			body: geminiError("Quota exceeded.", "generate_content_free_tier_requests", "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "20", "41212s"),
		},
		{
			name: "gemini, the model has no quota here", by: dialect.Gemini, status: 429, verdict: adaptive.OK,
			body: geminiError("Quota exceeded for metric: generate_content_free_tier_requests, limit: 0, model: gemini-3.1-pro", "generate_content_free_tier_requests",
				"GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "", "10s"),
		},
		{
			name: "gemini, no details", by: dialect.Gemini, status: 429, verdict: adaptive.Hit,
			body: `{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}`,
		},
		{name: "gemini, prepaid credits", by: dialect.Gemini, status: 402, verdict: adaptive.Terminal, body: `{"error":{"code":402,"message":"Credits are used up.","status":"RESOURCE_EXHAUSTED"}}`},
		{name: "gemini, 503", by: dialect.Gemini, auto: true, status: 503, verdict: adaptive.Overloaded, body: `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`},
		{name: "gemini, 500", by: dialect.Gemini, status: 500, verdict: adaptive.Transient, body: `{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}`},

		{
			name: "gemini, a stream's errors come in an array", by: dialect.Gemini, status: 429, verdict: adaptive.Hit, kind: adaptive.KindRequests, after: 7 * s,
			body: "[" + geminiError("Quota exceeded.", "generate_content_paid_tier_requests", "GenerateRequestsPerMinutePerProjectPerModel", "150", "7s") + "]",
		},
		{
			name: "gemini, the error object alone", by: dialect.Gemini, status: 429, verdict: adaptive.Hit, kind: adaptive.KindRequests, after: 7 * s,
			body: strings.TrimSuffix(strings.TrimPrefix(geminiError("Quota exceeded.", "generate_content_paid_tier_requests", "GenerateRequestsPerMinutePerProjectPerModel", "150", "7s"), `{"error":`), "}"),
		},

		// MiniMax answers every error with 200 and a number in base_resp, beside what a success has.
		{
			name: "minimax, success", by: dialect.MiniMax, auto: true, status: 200, verdict: adaptive.OK,
			body: `{"id":"05b8","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi."}}],"model":"MiniMax-M2","object":"chat.completion",` +
				`"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7},"base_resp":{"status_code":0,"status_msg":""}}`,
			used: throttle.Cost{Tokens: 7, Input: 5, Output: 2},
		},
		{
			name: "minimax, 1002: too many requests", by: dialect.MiniMax, auto: true, status: 200, verdict: adaptive.Hit, kind: anyKind,
			body: `{"id":"05b9","choices":null,"created":1760000000,"model":"MiniMax-M2","object":"chat.completion","usage":{"total_tokens":0},"base_resp":{"status_code":1002,"status_msg":"rate limit"}}`,
		},
		{
			name: "minimax, 1039: tokens", by: dialect.MiniMax, auto: true, status: 200, verdict: adaptive.Hit, kind: adaptive.KindTokens,
			body: `{"base_resp":{"status_code":1039,"status_msg":"token limit"}}`,
		},
		{
			name: "minimax, 1041: connections", by: dialect.MiniMax, auto: true, status: 200, verdict: adaptive.Hit, kind: adaptive.KindConcurrency,
			body: `{"data":null,"base_resp":{"status_code":1041,"status_msg":"conn limit"}}`,
		},
		{
			name: "minimax, 2045: a ramp too steep", by: dialect.MiniMax, auto: true, status: 200, verdict: adaptive.Hit, kind: anyKind, slow: true,
			body: `{"base_resp":{"status_code":2045,"status_msg":"rate growth limit"}}`,
		},
		{
			name: "minimax, 1008: no balance", by: dialect.MiniMax, auto: true, status: 200, verdict: adaptive.Terminal,
			body: `{"id":"05ba","base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`,
		},
		{
			name: "minimax, 2056: the plan's window", by: dialect.MiniMax, auto: true, status: 200, verdict: adaptive.Terminal,
			body: `{"base_resp":{"status_code":2056,"status_msg":"usage limit exceeded"}}`,
		},
		{
			name: "minimax, 1024: failed", by: dialect.MiniMax, auto: true, status: 200, verdict: adaptive.Transient,
			body: `{"base_resp":{"status_code":1024,"status_msg":"internal error"}}`,
		},
		{
			name: "minimax, 2013: a bad request", by: dialect.MiniMax, auto: true, status: 200, verdict: adaptive.OK,
			body: `{"base_resp":{"status_code":2013,"status_msg":"invalid params"}}`,
		},

		// Accounts that are closed or empty.
		{
			name: "anthropic, an empty balance", by: dialect.Anthropic, auto: true, status: 400, verdict: adaptive.Terminal,
			body: `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}`,
		},
		{
			name: "openai, an account that is not active", by: dialect.OpenAI, auto: true, status: 429, verdict: adaptive.Terminal,
			body: `{"error":{"message":"Your account is not active, please check your billing details on our website.","type":"billing_not_active","param":null,"code":"billing_not_active"}}`,
		},
		{
			name: "openai, an account that is closed", by: dialect.OpenAI, auto: true, status: 429, verdict: adaptive.Terminal,
			body: `{"error":{"message":"Your access was terminated due to violation of our policies.","type":"access_terminated","param":null,"code":"access_terminated"}}`,
		},
		{
			name: "github, the primary limit without its fields", by: dialect.GitHub, auto: true, status: 403, verdict: adaptive.Hit, kind: anyKind, after: 60 * s,
			body: `{"message":"API rate limit exceeded for user ID 1.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"}`,
		},

		// Mistral says minute in the names and what the call was charged.
		{
			name: "mistral, success", by: dialect.Mistral, auto: true, status: 200, verdict: adaptive.OK,
			header: "x-ratelimit-limit-req-minute: 60\nx-ratelimit-remaining-req-minute: 57\nx-ratelimit-limit-tokens-minute: 500000\nx-ratelimit-remaining-tokens-minute: 499911\nx-ratelimit-tokens-query-cost: 52",
			meters: meters{throttle.Requests: left(57, 60, 0), throttle.Tokens: left(499911, 500000, 0)},
			used:   throttle.Cost{Tokens: 52},
		},
		{
			name: "mistral, 429", by: dialect.Mistral, status: 429, verdict: adaptive.Hit, kind: anyKind, after: 3 * s,
			header: "retry-after: 3", body: `{"object":"error","message":"Rate limit exceeded","type":"rate_limited","param":null,"code":"1300","raw_status_code":429}`,
		},

		{
			name: "mistral, no word on the charge", by: dialect.Mistral, status: 200, verdict: adaptive.OK,
			body: `{"object":"chat.completion","usage":{"prompt_tokens":40,"completion_tokens":12,"total_tokens":52}}`,
			used: throttle.Cost{Input: 40, Output: 12, Tokens: 52},
		},
		{name: "mistral, 503", by: dialect.Mistral, status: 503, verdict: adaptive.Overloaded, body: `{"object":"error","message":"Service unavailable","type":"internal_server_error"}`},

		// Groq has OpenAI's names, but its requests are per day: a full day's worth refills slowly.
		{
			name: "groq, success; cached tokens do not count", by: dialect.Groq, status: 200, verdict: adaptive.OK,
			header: "x-groq-region: us-west-1\nx-ratelimit-limit-requests: 14400\nx-ratelimit-limit-tokens: 6000\nx-ratelimit-remaining-requests: 14370\nx-ratelimit-remaining-tokens: 5234\n" +
				"x-ratelimit-reset-requests: 2m59.56s\nx-ratelimit-reset-tokens: 7.66s",
			body: `{"id":"chatcmpl-2","object":"chat.completion","usage":{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100,` +
				`"prompt_tokens_details":{"cached_tokens":600}},"x_groq":{"id":"req_06"}}`,
			meters: meters{throttle.Requests: left(14370, 14400, 179560*ms), throttle.Tokens: left(5234, 6000, 7660*ms)},
			used:   throttle.Cost{Input: 400, Output: 100, Tokens: 500},
		},
		{
			name: "groq, tokens per day show in the message only", by: dialect.Groq, status: 429, verdict: adaptive.Hit, kind: adaptive.KindTokens, after: 579 * s,
			header: "retry-after: 579\nx-ratelimit-limit-tokens: 12000\nx-ratelimit-remaining-tokens: 11990\nx-ratelimit-reset-tokens: 50ms",
			body: `{"error":{"message":"Rate limit reached for model llama-3.3-70b-versatile in organization org_a service tier on_demand on tokens per day (TPD): Limit 100000, Used 97050, Requested 3619. ` +
				`Please try again in 9m38.016s.","type":"tokens","code":"rate_limit_exceeded"}}`,
			meters: meters{throttle.Tokens: left(11990, 12000, 50*ms)},
		},
		{
			name: "groq, the day's requests", by: dialect.Groq, status: 429, verdict: adaptive.Hit, kind: adaptive.KindRequests, after: 87 * s,
			header: "retry-after: 87\nx-ratelimit-limit-requests: 1000\nx-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 24h0m0s",
			body:   `{"error":{"message":"Rate limit reached for model gpt-oss-120b on requests per day (RPD): Limit 1000, Used 1000, Requested 1.","type":"requests","code":"rate_limit_exceeded"}}`,
			meters: meters{throttle.Requests: left(0, 1000, 24*time.Hour)},
		},
		{
			name: "groq, larger than the limit", by: dialect.Groq, status: 413, verdict: adaptive.OK,
			body: `{"error":{"message":"Request too large for model gpt-oss-20b on tokens per minute (TPM): Limit 8000, Requested 34041, please reduce your message size.","type":"tokens","code":"rate_limit_exceeded"}}`,
		},
		{
			name: "groq, the flex tier has no capacity", by: dialect.Groq, status: 498, verdict: adaptive.Overloaded, // room of theirs, not a limit of ours
			body: `{"error":{"message":"Flex tier capacity exceeded.","type":"server_error","code":"capacity_exceeded"}}`,
		},

		{
			name: "cohere, trial month", by: dialect.Cohere, auto: true, status: 429, verdict: adaptive.Terminal,
			body: `{"id":"a","message":"You are using a Trial key, which is limited to 1000 API calls / month. Continue with a Production key."}`,
		},
		{
			name: "cohere, trial minute", by: dialect.Cohere, auto: true, status: 429, verdict: adaptive.Hit, kind: anyKind,
			header: "x-trial-endpoint-call-limit: 20\nx-trial-endpoint-call-remaining: 0",
			body:   `{"id":"b","message":"You are using a Trial key, which is limited to 20 API calls / minute."}`,
			meters: meters{throttle.Requests: left(0, 20, 0)},
		},
		{name: "cohere, billing", by: dialect.Cohere, status: 402, verdict: adaptive.Terminal, body: `{"message":"Add a payment method."}`},

		// Bedrock identifies itself in a header with varying case.
		{
			name: "bedrock, tokens", by: dialect.Bedrock, auto: true, status: 429, verdict: adaptive.Hit, kind: adaptive.KindTokens,
			header: "x-amzn-ErrorType: ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/\nx-amzn-RequestId: ca",
			body:   `{"message":"Too many tokens, please wait before trying again."}`,
		},
		{
			name: "bedrock, requests", by: dialect.Bedrock, auto: true, status: 429, verdict: adaptive.Hit, kind: adaptive.KindRequests,
			header: "X-Amzn-Errortype: ThrottlingException", body: `{"message":"Too many requests, please wait before trying again."}`,
		},
		{name: "bedrock, a model that wakes up", by: dialect.Bedrock, status: 429, verdict: adaptive.Transient, header: "x-amzn-errortype: ModelNotReadyException", body: `{"message":"Not ready."}`},
		{name: "bedrock, service quota", by: dialect.Bedrock, status: 400, verdict: adaptive.Terminal, header: "x-amzn-errortype: ServiceQuotaExceededException", body: `{"message":"Quota exceeded."}`},
		{name: "bedrock, 424 of the model", by: dialect.Bedrock, status: 424, verdict: adaptive.Transient, header: "x-amzn-errortype: ModelErrorException", body: `{"message":"Failed."}`},
		{name: "bedrock, 503", by: dialect.Bedrock, auto: true, status: 503, verdict: adaptive.Overloaded, header: "x-amzn-errortype: ServiceUnavailableException", body: `{"message":"Busy."}`},
		{
			name: "bedrock, Converse", by: dialect.Bedrock, status: 200, verdict: adaptive.OK,
			body: `{"output":{"message":{"role":"assistant","content":[{"text":"Yes."}]}},"stopReason":"end_turn","usage":{"inputTokens":30,"outputTokens":628,"totalTokens":658},"metrics":{"latencyMs":1275}}`,
			used: throttle.Cost{Input: 30, Output: 628, Tokens: 658},
		},

		{name: "bedrock, 408 of the model", by: dialect.Bedrock, status: 408, verdict: adaptive.Transient, header: "x-amzn-errortype: ModelTimeoutException"},

		// DeepSeek limits nothing but calls in flight.
		{
			name: "deepseek, in flight", by: dialect.DeepSeek, status: 429, verdict: adaptive.Hit, kind: adaptive.KindConcurrency,
			body: `{"error":{"message":"Too many concurrent requests.","type":"rate_limit_error","param":null,"code":"rate_limit"}}`,
		},
		{name: "deepseek, balance", by: dialect.DeepSeek, status: 402, verdict: adaptive.Terminal, body: `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`},
		{name: "deepseek, 503", by: dialect.DeepSeek, status: 503, verdict: adaptive.Overloaded, body: `{"error":{"message":"Service is too busy.","type":"service_unavailable_error","code":null}}`},

		// xAI's error is a text where others have an object.
		{
			name: "xai, tokens", by: dialect.XAI, status: 429, verdict: adaptive.Hit, kind: adaptive.KindTokens,
			body: `{"code":"Some resource has been exhausted","error":"Too many tokens for team 00 and model grok-4.7. Your team's rate limit is: Tokens per Minute (actual/limit): 65605/16000."}`,
		},
		{
			// Not in the facts, which know one 429 of xAI only; users are sent this one, and no wait cures it.
			name: "xai, credits", by: dialect.XAI, status: 429, verdict: adaptive.Terminal,
			body: `{"code":"Some resource has been exhausted","error":"Your team 00 has either used all available credits or reached its monthly spending limit."}`,
		},
		{
			name: "xai, success; reasoning is not in completion_tokens", by: dialect.XAI, status: 200, verdict: adaptive.OK,
			header: "x-ratelimit-limit-requests: 9000\nx-ratelimit-remaining-requests: 8999\nx-ratelimit-limit-tokens: 50000000\nx-ratelimit-remaining-tokens: 49999763",
			body:   `{"id":"c","object":"chat.completion","usage":{"prompt_tokens":32,"completion_tokens":9,"total_tokens":237,"completion_tokens_details":{"reasoning_tokens":196}}}`,
			meters: meters{throttle.Requests: left(8999, 9000, 0), throttle.Tokens: left(49999763, 50000000, 0)},
			used:   throttle.Cost{Input: 32, Output: 205, Tokens: 237},
		},

		// OpenRouter: a day ends at midnight UTC, which is what its reset says in milliseconds.
		{
			name: "openrouter, the free day", by: dialect.OpenRouter, status: 429, verdict: adaptive.Hit, kind: anyKind, after: 4*time.Hour + 39*time.Minute + 57*s,
			header: "X-RateLimit-Limit: 50\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1795219200000",
			body: `{"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day","code":429,` +
				`"metadata":{"error_type":"rate_limit_exceeded"}}}`,
			meters: meters{throttle.Requests: left(0, 50, 4*time.Hour+39*time.Minute+57*s)},
		},
		{
			name: "openrouter, upstream", by: dialect.OpenRouter, status: 429, verdict: adaptive.Hit, kind: anyKind, after: 8 * s,
			header: "Retry-After: 8",
			body:   `{"error":{"message":"Provider returned error","code":429,"metadata":{"error_type":"rate_limit_exceeded","provider_code":"rate_limited","provider_name":"Acme"}}}`,
		},
		{name: "openrouter, credits", by: dialect.OpenRouter, status: 402, verdict: adaptive.Terminal, body: `{"error":{"message":"Insufficient credits.","code":402,"metadata":{"error_type":"payment_required"}}}`},
		{
			name: "openrouter, too much money in flight", by: dialect.OpenRouter, status: 402, verdict: adaptive.Hit, kind: adaptive.KindConcurrency, after: 2 * s,
			header: "Retry-After: 2",
			body:   `{"error":{"message":"In-flight budget exhausted.","code":402,"metadata":{"error_type":"in_flight_budget_exhausted","limit_source":"openrouter_in_flight_budget"}}}`,
		},
		{
			name: "openrouter, in the middle of a stream", by: dialect.OpenRouter, status: 200, verdict: adaptive.Hit, kind: anyKind,
			header: "content-type: text/event-stream",
			body: ": OPENROUTER PROCESSING\n\n" + `data: {"id":"gen-1","object":"chat.completion.chunk","error":{"code":429,"message":"Rate limit exceeded"},` +
				`"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}` + "\n\n",
		},

		{
			name: "openrouter, the day's end in the body alone", by: dialect.OpenRouter, status: 429, verdict: adaptive.Hit, kind: anyKind, after: 4*time.Hour + 39*time.Minute + 57*s,
			body: `{"error":{"message":"Rate limit exceeded: free-models-per-day","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"50","X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1795219200000"},` +
				`"error_type":"rate_limit_exceeded"}},"user_id":"user_a"}`,
			meters: meters{throttle.Requests: left(0, 50, 4*time.Hour+39*time.Minute+57*s)},
		},
		{
			// Not in the facts; the provider documents it. It is the one 402 that leaves the key open:
			// this request costs more than may be in flight at once.
			name: "openrouter, dearer than the whole budget", by: dialect.OpenRouter, status: 402, verdict: adaptive.OK,
			body: `{"error":{"message":"Estimated cost exceeds the in-flight budget.","code":402,"metadata":{"error_type":"weight_exceeds_budget","limit_source":"openrouter_credits"}}}`,
		},

		// The fields of the IETF, the new form and the old.
		{
			name: "ietf, new form", by: dialect.IETF, auto: true, status: 200, verdict: adaptive.OK,
			header: "RateLimit-Policy: \"default\";q=100;w=60\nRateLimit: \"default\";r=50;t=30",
			meters: meters{throttle.Requests: left(50, 100, 30*s)},
		},
		{
			name: "ietf, with a partition key", by: dialect.IETF, status: 200, verdict: adaptive.OK,
			header: "RateLimit-Policy: \"peruser\";q=100;w=60;pk=:cHNsLWV4YW1wbGU=:\nRateLimit: \"peruser\";r=9;t=6;pk=:cHNsLWV4YW1wbGU=:",
			meters: meters{throttle.Requests: left(9, 100, 6*s)},
		},
		{
			name: "ietf, two policies, the short one is empty", by: dialect.IETF, auto: true, status: 429, verdict: adaptive.Hit, kind: anyKind, after: 2 * s,
			header: "RateLimit-Policy: \"burst\";q=10;w=5, \"day\";q=5000;w=86400\nRateLimit: \"burst\";r=0;t=2, \"day\";r=4000;t=3600",
			meters: meters{throttle.Requests: left(0, 10, 2*s)},
		},
		{
			name: "ietf, two policies, the one that is nearest to its end", by: dialect.IETF, status: 200, verdict: adaptive.OK,
			header: "RateLimit-Policy: \"day\";q=5000;w=86400, \"burst\";q=10;w=5\nRateLimit: \"day\";r=4000;t=3600, \"burst\";r=3;t=2",
			meters: meters{throttle.Requests: left(3, 10, 2*s)},
		},
		{
			name: "ietf, calls in flight", by: dialect.IETF, status: 429, verdict: adaptive.Hit, kind: adaptive.KindConcurrency,
			header: "RateLimit-Policy: \"inflight\";q=10;qu=\"concurrent-requests\"\nRateLimit: \"inflight\";r=0",
		},
		{
			name: "ietf, bytes are no requests", by: dialect.IETF, status: 200, verdict: adaptive.OK,
			header: "RateLimit-Policy: \"bytes\";q=1000000;qu=\"content-bytes\";w=60\nRateLimit: \"bytes\";r=400000;t=20",
		},
		{
			name: "ietf, old form", by: dialect.IETF, auto: true, status: 429, verdict: adaptive.Hit, kind: anyKind, after: 12 * s,
			header: "RateLimit-Limit: 100, 100;w=60\nRateLimit-Remaining: 0\nRateLimit-Reset: 12",
			meters: meters{throttle.Requests: left(0, 100, 12*s)},
		},
		{
			name: "ietf, less room for a while", by: dialect.IETF, status: 503, verdict: adaptive.Overloaded, after: 30 * s,
			header: "Content-Type: application/problem+json\nRetry-After: 30",
			body:   `{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Reduced capacity","violated-policies":["default"]}`,
		},
		{
			name: "hugging face, whose policy is not RFC 9651", by: dialect.HuggingFace, auto: true, status: 429, verdict: adaptive.Hit, kind: anyKind, after: 55 * s,
			header: "RateLimit: \"api\";r=0;t=55\nRateLimit-Policy: \"fixed window\";\"api\";q=500;w=300",
			body:   `{"error":"Too many requests"}`,
			meters: meters{throttle.Requests: left(0, 500, 55*s)},
		},
		{
			name: "hugging face, success", by: dialect.HuggingFace, auto: true, status: 200, verdict: adaptive.OK,
			header: "ratelimit: \"resolvers\";r=4998;t=189\nratelimit-policy: \"fixed window\";\"resolvers\";q=5000;w=300",
			meters: meters{throttle.Requests: left(4998, 5000, 189*s)},
		},
		{name: "hugging face, inference credits", by: dialect.HuggingFace, status: 402, verdict: adaptive.Terminal, body: `{"error":"You have exceeded your monthly included credits."}`},

		// X-RateLimit: the size of a reset determines its unit.
		{
			name: "x-ratelimit, epoch seconds", by: dialect.Generic, auto: true, status: 429, verdict: adaptive.Hit, kind: anyKind, after: 37 * s,
			header: "X-RateLimit-Limit: 60\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1795202440", meters: meters{throttle.Requests: left(0, 60, 37*s)},
		},
		{
			name: "x-ratelimit, epoch milliseconds", by: dialect.Generic, auto: true, status: 429, verdict: adaptive.Hit, kind: anyKind, after: 1500 * ms,
			header: "X-RateLimit-Limit: 60\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1795202404500", meters: meters{throttle.Requests: left(0, 60, 1500*ms)},
		},
		{
			name: "x-ratelimit, seconds from now", by: dialect.Generic, auto: true, status: 200, verdict: adaptive.OK,
			header: "X-RateLimit-Limit: 60\nX-RateLimit-Remaining: 12\nX-RateLimit-Reset: 17", meters: meters{throttle.Requests: left(12, 60, 17*s)},
		},
		{
			name: "retry-after goes before a reset", by: dialect.Generic, auto: true, status: 429, verdict: adaptive.Hit, kind: anyKind, after: 5 * s,
			header: "Retry-After: Fri, 20 Nov 2026 19:20:08 GMT\nX-RateLimit-Limit: 60\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 17", meters: meters{throttle.Requests: left(0, 60, 17*s)},
		},
		{
			name: "x-ratelimit, a reset that has passed", by: dialect.Generic, status: 429, verdict: adaptive.Hit, kind: anyKind,
			header: "X-RateLimit-Limit: 60\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1795202000", meters: meters{throttle.Requests: left(0, 60, 0)},
		},
		{name: "a date that has passed", by: dialect.Generic, status: 503, verdict: adaptive.Overloaded, header: "Retry-After: Fri, 20 Nov 2026 19:19:00 GMT"},
		{name: "503 without a word", by: dialect.Generic, auto: true, status: 503, verdict: adaptive.Transient},
		{name: "payment required", by: dialect.Generic, auto: true, status: 402, verdict: adaptive.Terminal},
		{name: "a gateway gave up", by: dialect.Generic, auto: true, status: 502, verdict: adaptive.Transient, body: "<html><h1>502 Bad Gateway</h1></html>"},

		// GitHub refuses with 403.
		{
			name: "github, primary", by: dialect.GitHub, auto: true, status: 403, verdict: adaptive.Hit, kind: adaptive.KindRequests, after: 1797 * s,
			header: "x-github-request-id: FA\nx-ratelimit-limit: 5000\nx-ratelimit-remaining: 0\nx-ratelimit-used: 5000\nx-ratelimit-reset: 1795204200\nx-ratelimit-resource: core",
			body:   `{"message":"API rate limit exceeded for user ID 1.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"}`,
			meters: meters{throttle.Requests: left(0, 5000, 1797*s)},
		},
		{
			name: "github, secondary", by: dialect.GitHub, auto: true, status: 403, verdict: adaptive.Hit, kind: anyKind, after: 75 * s,
			header: "x-github-request-id: FB\nretry-after: 75\nx-ratelimit-limit: 5000\nx-ratelimit-remaining: 4990\nx-ratelimit-reset: 1795204200\nx-ratelimit-resource: core",
			body:   `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`,
			meters: meters{throttle.Requests: left(4990, 5000, 1797*s)},
		},
		{
			name: "github, secondary without a wait is a minute", by: dialect.GitHub, auto: true, status: 403, verdict: adaptive.Hit, kind: anyKind, after: time.Minute,
			header: "x-github-request-id: FC\nx-ratelimit-resource: core",
			body:   `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`,
		},
		{
			name: "github, primary as 429", by: dialect.GitHub, status: 429, verdict: adaptive.Hit, kind: adaptive.KindRequests, after: 27 * s,
			header: "x-ratelimit-limit: 30\nx-ratelimit-remaining: 0\nx-ratelimit-reset: 1795202430\nx-ratelimit-resource: search", meters: meters{throttle.Requests: left(0, 30, 27*s)},
		},
		{
			name: "github, not allowed", by: dialect.GitHub, auto: true, status: 403, verdict: adaptive.OK,
			header: "x-github-request-id: FD\nx-ratelimit-limit: 5000\nx-ratelimit-remaining: 4987\nx-ratelimit-reset: 1795204200\nx-ratelimit-resource: core",
			body:   `{"message":"Resource not accessible by integration"}`,
			meters: meters{throttle.Requests: left(4987, 5000, 1797*s)},
		},

		{
			name: "shopify, rest", by: dialect.Shopify, auto: true, status: 200, verdict: adaptive.OK,
			header: "X-Shopify-Shop-Api-Call-Limit: 32/40", meters: meters{throttle.Requests: left(8, 40, 0)},
		},
		{name: "shopify, nonsense", by: dialect.Shopify, status: 200, verdict: adaptive.OK, header: "X-Shopify-Shop-Api-Call-Limit: many/40"},
		{name: "shopify, half of it", by: dialect.Shopify, status: 200, verdict: adaptive.OK, header: "X-Shopify-Shop-Api-Call-Limit: 40"},
		{
			name: "shopify, rest 429", by: dialect.Shopify, auto: true, status: 429, verdict: adaptive.Hit, kind: anyKind, after: 2 * s,
			header: "Retry-After: 2.0\nX-Shopify-Shop-Api-Call-Limit: 40/40", meters: meters{throttle.Requests: left(0, 40, 0)},
			body: `{"errors":"Exceeded 2 calls per second for api client. Reduce request rates to resume uninterrupted service."}`,
		},
		{
			name: "shopify, graphql", by: dialect.Shopify, status: 200, verdict: adaptive.Hit, kind: anyKind, after: 4 * s,
			body: `{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}],"extensions":{"cost":{"requestedQueryCost":442,"actualQueryCost":null,` +
				`"throttleStatus":{"maximumAvailable":2000.0,"currentlyAvailable":42,"restoreRate":100.0}}}}`,
			meters: meters{throttle.Points: left(42, 2000, 19580*ms)},
		},
		{
			name: "stripe, calls in flight", by: dialect.Stripe, auto: true, status: 429, verdict: adaptive.Hit, kind: adaptive.KindConcurrency,
			header: "Stripe-Rate-Limited-Reason: global-concurrency\nStripe-Should-Retry: true", body: `{"error":{"message":"Too many concurrent requests.","type":"invalid_request_error","code":"rate_limit"}}`,
		},
		{name: "stripe, a rate", by: dialect.Stripe, auto: true, status: 429, verdict: adaptive.Hit, kind: adaptive.KindRequests, header: "Stripe-Rate-Limited-Reason: endpoint-rate"},
		{
			name: "stripe, a lock", by: dialect.Stripe, status: 429, verdict: adaptive.Transient,
			body: `{"error":{"message":"This object cannot be accessed right now.","type":"invalid_request_error","code":"lock_timeout"}}`,
		},
		{name: "slack", by: dialect.Slack, status: 429, verdict: adaptive.Hit, kind: anyKind, after: 30 * s, header: "Retry-After: 30", body: `{"ok":false,"error":"ratelimited"}`},
		{
			name: "wikimedia, lag", by: dialect.Wikimedia, status: 200, verdict: adaptive.Overloaded, after: 5 * s, header: "Retry-After: 5",
			body: `{"error":{"code":"maxlag","info":"Waiting for a database server: 6.2 seconds lagged."}}`,
		},
		{name: "crossref, the interval is the wait", by: dialect.Crossref, status: 429, verdict: adaptive.Hit, kind: anyKind, after: s, header: "x-rate-limit-limit: 5\nx-rate-limit-interval: 1s\nx-concurrency-limit: 1"},
		{name: "arxiv refuses with 503", by: dialect.Arxiv, status: 503, verdict: adaptive.Hit, kind: anyKind, after: 10 * s, header: "Retry-After: 10"},
		{
			name: "together, above the rate of the moment", by: dialect.Together, status: 429, verdict: adaptive.Hit, kind: anyKind, after: s,
			header: "x-ratelimit-limit: 10\nx-ratelimit-remaining: 0\nx-ratelimit-reset: 1", meters: meters{throttle.Requests: left(0, 10, s)},
		},
		{name: "together, the platform is short", by: dialect.Together, status: 503, verdict: adaptive.Overloaded},
		{
			name: "fireworks, three meters", by: dialect.Fireworks, auto: true, status: 200, verdict: adaptive.OK,
			header: "x-ratelimit-limit-requests: 6000\nx-ratelimit-remaining-requests: 5999\nx-ratelimit-limit-tokens-prompt: 3600000\nx-ratelimit-remaining-tokens-prompt: 3500000\n" +
				"x-ratelimit-limit-tokens-generated: 36000\nx-ratelimit-remaining-tokens-generated: 30000",
			meters: meters{throttle.Requests: left(5999, 6000, 0), throttle.InputTokens: left(3500000, 3600000, 0), throttle.OutputTokens: left(30000, 36000, 0)},
		},
		{
			name: "cerebras, the minute's tokens", by: dialect.Cerebras, auto: true, status: 429, verdict: adaptive.Hit, kind: adaptive.KindTokens, after: 26500 * ms,
			header: "x-ratelimit-limit-requests-day: 14400\nx-ratelimit-remaining-requests-day: 14000\nx-ratelimit-reset-requests-day: 33000.5\n" +
				"x-ratelimit-limit-tokens-minute: 60000\nx-ratelimit-remaining-tokens-minute: 0\nx-ratelimit-reset-tokens-minute: 26.5",
			body:   `{"message":"Tokens per minute limit exceeded - too many tokens processed.","type":"too_many_tokens_error","param":"quota","code":"token_quota_exceeded"}`,
			meters: meters{throttle.Requests: left(14000, 14400, 33000500*ms), throttle.Tokens: left(0, 60000, 26500*ms)},
		},
		{name: "together, the month's spend", by: dialect.Together, status: 402, verdict: adaptive.Terminal},
		{name: "notion", by: dialect.Notion, status: 429, verdict: adaptive.Hit, kind: anyKind, after: 6 * s, header: "Retry-After: 6", body: `{"object":"error","status":429,"code":"rate_limited","message":"Slow."}`},
		{name: "e-utilities", by: dialect.NCBI, status: 429, verdict: adaptive.Hit, kind: anyKind, body: `{"error":"API rate limit exceeded","api-key":"0","count":"4","limit":"3"}`},
		{name: "wikimedia, the Action API", by: dialect.Wikimedia, status: 200, verdict: adaptive.Hit, kind: anyKind, body: `{"error":{"code":"ratelimited","info":"You've exceeded your rate limit."}}`},
		{name: "jina, the balance is zero", by: dialect.Jina, status: 402, verdict: adaptive.Terminal},
		{name: "ollama, the queue is full", by: dialect.Ollama, status: 503, verdict: adaptive.Overloaded, kind: anyKind, body: `{"error":"server busy, please try again.  maximum pending requests exceeded"}`},
		{name: "exa", by: dialect.Exa, auto: true, status: 429, verdict: adaptive.Hit, kind: anyKind, body: `{"error":"You've exceeded your Exa rate limit of 10 requests per second."}`},
		{name: "exa, out of credits", by: dialect.Exa, auto: true, status: 402, verdict: adaptive.Terminal, body: `{"requestId":"a","error":"You have exceeded your credits limit.","tag":"NO_MORE_CREDITS"}`},
		{name: "exa, overloaded", by: dialect.Exa, status: 503, verdict: adaptive.Overloaded, kind: anyKind, body: `{"requestId":"b","error":"The service is overloaded.","tag":"SERVICE_OVERLOADED"}`},
		{name: "perplexity", by: dialect.Perplexity, status: 429, verdict: adaptive.Hit, kind: anyKind},
	}
}

func geminiError(message, metric, id, value, delay string) string {
	return `{"error":{"code":429,"message":"` + message + `","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[` +
		`{"quotaMetric":"generativelanguage.googleapis.com/` + metric + `","quotaId":"` + id + `","quotaValue":"` + value + `"}]},` +
		`{"@type":"type.googleapis.com/google.rpc.Help","links":[{"description":"Quotas","url":"https://ai.google.dev/gemini-api/docs/rate-limits"}]},` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + delay + `"}]}}`
}

func headerOf(lines string) http.Header {
	h := http.Header{}
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		h.Add(textproto.CanonicalMIMEHeaderKey(name), value)
	}
	return h
}

func TestKnownAnswers(t *testing.T) {
	for _, a := range answers() {
		assert.Empty(t, a.differences(a.by), "%s", a.name)
	}
}

// Auto has no more than the answer to go by.
func TestKnownAnswersOfWhoever(t *testing.T) {
	n := 0
	for _, a := range answers() {
		if a.auto {
			n++
			assert.Empty(t, a.differences(dialect.Auto), "%s", a.name)
		}
	}
	assert.GreaterOrEqual(t, n, 12)
}

// differences lists in words what d makes of the answer otherwise than expected.
func (k known) differences(d dialect.Dialect) (all []string) {
	f := d.Read(arrival(), k.status, headerOf(k.header), []byte(k.body))
	differ := func(what string, want, got any) {
		if want != got {
			all = append(all, fmt.Sprintf("%s: want %v, got %v", what, want, got))
		}
	}
	differ("verdict", k.verdict, f.Verdict)
	if k.verdict == adaptive.Hit || k.verdict == adaptive.Overloaded {
		differ("retry after", k.after, f.RetryAfter)
	}
	if k.verdict == adaptive.Hit && k.kind != anyKind {
		differ("kind", k.kind, f.Kind)
	}
	differ("slow down", k.slow, f.SlowDown)
	differ("final", k.final, f.Final)
	for u := range throttle.Units {
		differ("meter of "+u.String(), k.meters[u], f.Meters[u])
		if k.used != (throttle.Cost{}) {
			differ("used "+u.String(), k.used.Of(u), f.Used.Of(u))
		}
	}
	if k.used == (throttle.Cost{}) {
		differ("used", throttle.Cost{}, f.Used) // as reserved
	}
	return all
}

// Each column is compared: another expectation is always a difference.
func TestKnownAnswersTellDifferences(t *testing.T) {
	for _, a := range answers() {
		for column, change := range map[string]func(*known){
			"verdict":     func(k *known) { k.verdict = adaptive.Unsent },
			"slow":        func(k *known) { k.slow = !k.slow },
			"final":       func(k *known) { k.final = !k.final },
			"a limit":     func(k *known) { k.meters[throttle.Requests].Limit++ },
			"a remainder": func(k *known) { k.meters[throttle.Tokens].Remaining++ },
			"a reset":     func(k *known) { k.meters[throttle.InputTokens].Reset++ },
			"used":        func(k *known) { k.used.Points += 7 },
		} {
			wrong := a
			change(&wrong)
			assert.Len(t, wrong.differences(a.by), 1, "%s: %s", a.name, column)
		}
		if a.verdict == adaptive.Hit || a.verdict == adaptive.Overloaded {
			a.after++
			assert.Len(t, a.differences(a.by), 1, "%s: the wait", a.name)
		}
	}
}

// A wait that is too long for any caller is still a refusal: the controller returns it to the caller.
func TestKnownWaitsStayWaits(t *testing.T) {
	for _, header := range []string{
		"Retry-After: 99999999999999999999", "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT", "X-RateLimit-Remaining: 0\nX-RateLimit-Limit: 1\nX-RateLimit-Reset: 99999999999999",
	} {
		f := dialect.Generic.Read(arrival(), 429, headerOf(header), nil)
		assert.Equal(t, adaptive.Hit, f.Verdict, "%s", header)
		assert.Greater(t, f.RetryAfter, 10*time.Minute, "%s", header)
	}
	for _, header := range []string{"Retry-After: -5", "Retry-After: soon", "retry-after-ms: NaN", "X-RateLimit-Remaining: 0\nX-RateLimit-Limit: 1\nX-RateLimit-Reset: -1"} {
		f := dialect.Generic.Read(arrival(), 429, headerOf(header), nil)
		assert.Equal(t, adaptive.Hit, f.Verdict, "%s", header)
		assert.Zero(t, f.RetryAfter, "%s", header)
	}
}

// Nominatim's block and the IETF's abnormal use want a person to look: whether
// only the item fails or the key closes too is open, but nothing is sent again.
func TestKnownBlocksAreNotRetried(t *testing.T) {
	problem := `{"type":"https://iana.org/assignments/http-problem-types#abnormal-usage-detected","title":"Abnormal usage"}`
	for _, f := range []adaptive.Feedback{
		dialect.Nominatim.Read(arrival(), 403, nil, []byte("Access blocked")),
		dialect.Nominatim.Read(arrival(), 429, nil, []byte("Bandwidth limit exceeded")),
		dialect.IETF.Read(arrival(), 429, headerOf("Content-Type: application/problem+json"), []byte(problem)),
	} {
		assert.Contains(t, []adaptive.Verdict{adaptive.OK, adaptive.Terminal}, f.Verdict)
	}
}

// sdkError has the shape of the official SDKs' errors.
type sdkError struct {
	StatusCode int
	Response   *http.Response
	raw        string
}

func (e *sdkError) Error() string   { return "sdk" }
func (e *sdkError) RawJSON() string { return e.raw }

func TestKnownErrors(t *testing.T) {
	detect := dialect.Detector(dialect.OpenAI)
	assert.Zero(t, detect(io.EOF))
	err := fmt.Errorf("item 7: %w", &sdkError{
		StatusCode: 429, Response: &http.Response{StatusCode: http.StatusTooManyRequests, Header: headerOf("Retry-After-Ms: 250")},
		raw: `{"message":"Rate limit reached.","type":"tokens","param":null,"code":"rate_limit_exceeded"}`,
	})
	f := detect(err)
	assert.Equal(t, adaptive.Hit, f.Verdict)
	assert.Equal(t, adaptive.KindTokens, f.Kind)
	assert.Equal(t, 250*ms, f.RetryAfter)
	require.ErrorIs(t, f.Err, err)
	f = dialect.Detector(dialect.Auto)(&sdkError{StatusCode: 429, raw: `{"message":"Broke.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}`})
	assert.Equal(t, adaptive.Terminal, f.Verdict)
}

func TestKnownHosts(t *testing.T) {
	for host, want := range map[string]dialect.Name{
		"api.openai.com":                          dialect.OpenAI,
		"API.OpenAI.com:443":                      dialect.OpenAI,
		"acme-west.openai.azure.com":              dialect.Azure,
		"api.anthropic.com":                       dialect.Anthropic,
		"generativelanguage.googleapis.com":       dialect.Gemini,
		"api.mistral.ai":                          dialect.Mistral,
		"api.minimax.io":                          dialect.MiniMax,
		"api.groq.com":                            dialect.Groq,
		"api.cohere.com":                          dialect.Cohere,
		"bedrock-runtime.eu-west-1.amazonaws.com": dialect.Bedrock,
		"api.deepseek.com":                        dialect.DeepSeek,
		"api.x.ai":                                dialect.XAI,
		"ollama.com":                              dialect.Ollama,
		"api.exa.ai":                              dialect.Exa,
		"openrouter.ai":                           dialect.OpenRouter,
		"huggingface.co":                          dialect.HuggingFace,
		"api.github.com":                          dialect.GitHub,
		"api.perplexity.ai":                       dialect.Perplexity,
		"api.together.xyz":                        dialect.Together,
		"api.fireworks.ai":                        dialect.Fireworks,
		"acme.myshopify.com":                      dialect.Shopify,
		"api.stripe.com":                          dialect.Stripe,
		"export.arxiv.org":                        dialect.Arxiv,
		"nominatim.openstreetmap.org":             dialect.Nominatim,

		"example.com":               dialect.Auto,
		"":                          dialect.Auto,
		"api.openai.com.example.co": dialect.Auto, // another provider's name
		"notx.ai":                   dialect.Auto,
	} {
		assert.Equal(t, want, dialect.ByHost(host), "%q", host)
	}
}

func TestKnownNames(t *testing.T) {
	for _, n := range dialect.Names() {
		got, err := dialect.ByName(strings.ToUpper(n.Name()))
		require.NoError(t, err)
		assert.Equal(t, n, got)
	}
	assert.GreaterOrEqual(t, len(dialect.Names()), 34, "31 providers, ietf, generic and auto")
	for name, near := range map[string]dialect.Name{
		"opneai": dialect.OpenAI, "antropic": dialect.Anthropic, "azure": dialect.Azure, "azure_openai": dialect.Azure, "hugging-face": dialect.HuggingFace,
		"bedrock": dialect.Bedrock, "deep-seek": dialect.DeepSeek, "Mistrall": dialect.Mistral, "open router": dialect.OpenRouter, "semanticscholar": dialect.SemanticScholar,
	} {
		_, err := dialect.ByName(name)
		var unknown *dialect.UnknownError
		require.True(t, errors.As(err, &unknown), "%q", name)
		assert.Equal(t, name, unknown.Name)
		assert.Contains(t, unknown.Near, near, "%q", name)
		assert.ErrorContains(t, err, string(near))
	}
}

// What a provider charges before it has answered. 4,000 letters are about 1,000
// tokens of English; providers round their own way.
func TestKnownEstimates(t *testing.T) {
	letters := strings.Repeat("many words ", 400)[:4000]
	picture := "data:image/png;base64," + strings.Repeat("iVBORw0K", 50_000)
	chat := func(rest string) string {
		return `{"model":"m","messages":[{"role":"user","content":"` + letters + `"}]` + rest + `}`
	}
	for _, tc := range []struct {
		name      string
		by        dialect.Name
		path      string
		body      string
		unit      throttle.Unit
		low, high int64
	}{
		{"openai: the larger of the two, max_tokens", dialect.OpenAI, "/v1/chat/completions", chat(`,"max_tokens":5000`), throttle.Tokens, 5000, 5000},
		{"openai: the larger of the two, the letters", dialect.OpenAI, "/v1/chat/completions", chat(`,"max_completion_tokens":16`), throttle.Tokens, 800, 1600},
		{"openai: Responses", dialect.OpenAI, "/v1/responses", `{"model":"m","input":"` + letters + `","max_output_tokens":3000}`, throttle.Tokens, 3000, 3000},
		{"openai: embeddings", dialect.OpenAI, "/v1/embeddings", `{"model":"m","input":["` + letters + `","` + letters + `"]}`, throttle.Tokens, 1600, 3200},
		{
			"openai: a picture is no text", dialect.OpenAI, "/v1/chat/completions",
			`{"model":"m","max_tokens":100,"messages":[{"role":"user","content":[{"type":"text","text":"` + letters + `"},{"type":"image_url","image_url":{"url":"` + picture + `"}}]}]}`,
			throttle.Tokens, 800, 5000,
		},
		{"openai: images are points", dialect.OpenAI, "/v1/images/generations", `{"model":"gpt-image-2","prompt":"a mill","n":4}`, throttle.Points, 4, 4},
		{"azure: prompt and answers", dialect.Azure, "/openai/deployments/m/chat/completions", chat(`,"max_tokens":1000,"best_of":2`), throttle.Tokens, 2800, 3600},
		{"bedrock: input and maxTokens", dialect.Bedrock, "/model/m/converse", `{"messages":[{"role":"user","content":[{"text":"` + letters + `"}]}],"inferenceConfig":{"maxTokens":2000}}`, throttle.Tokens, 2800, 3600},
		{"anthropic: input", dialect.Anthropic, "/v1/messages", chat(`,"max_tokens":1024`), throttle.InputTokens, 800, 1600},
		{"anthropic: output counts as it is produced", dialect.Anthropic, "/v1/messages", chat(`,"max_tokens":1024`), throttle.OutputTokens, 0, 1024},
		{"gemini: input", dialect.Gemini, "/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"` + letters + `"}]}],"generationConfig":{"maxOutputTokens":4096}}`, throttle.InputTokens, 800, 1600},
		{"groq: letters", dialect.Groq, "/openai/v1/chat/completions", chat(""), throttle.Tokens, 800, 3000},
		{"cohere: embed counts inputs", dialect.Cohere, "/v2/embed", `{"model":"embed-v4.0","texts":["a","b","c"],"input_type":"search_document"}`, throttle.Points, 3, 3},
		{"github: a read", dialect.GitHub, "", "", throttle.Points, 1, 1},
		{"github: a write", dialect.GitHub, "/repos/a/b/issues", `{"title":"x"}`, throttle.Points, 5, 5},
		{"auto goes by the host: openai", dialect.Auto, "//api.openai.com/v1/chat/completions", chat(`,"max_tokens":5000`), throttle.Tokens, 5000, 5000},
		{"auto goes by the host: gemini", dialect.Auto, "//generativelanguage.googleapis.com/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"text":"` + letters + `"}]}]}`, throttle.InputTokens, 800, 1600},
		{"auto goes by the host: cohere", dialect.Auto, "//api.cohere.com/v2/embed", `{"model":"m","texts":["a","b"]}`, throttle.Points, 2, 2},
		{"one request", dialect.Generic, "/anything", "", throttle.Requests, 1, 1},
		{"not JSON", dialect.OpenAI, "/v1/chat/completions", "\xff\x00{", throttle.Requests, 1, 1},
	} {
		url := "https://api.example.com" + tc.path
		if strings.HasPrefix(tc.path, "//") {
			url = "https:" + tc.path
		}
		r := httptest.NewRequest(http.MethodPost, url, strings.NewReader(tc.body))
		if tc.path == "" {
			r.Method = http.MethodGet
		}
		got := tc.by.Estimate(r, []byte(tc.body)).Of(tc.unit)
		assert.True(t, tc.low <= got && got <= tc.high, "%s: %d %s are not in %d..%d", tc.name, got, tc.unit, tc.low, tc.high)
		assert.NotPanics(t, func() { tc.by.Estimate(nil, []byte(tc.body)) })
	}
}
