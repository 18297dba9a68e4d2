package dialect_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// Each answer is one that only the dialect of its sender judges like this.
func TestAutoRecognisesWhoSpeaks(t *testing.T) {
	for _, tc := range []struct {
		about        string
		status       int
		header, body string
		verdict      adaptive.Verdict
		kind         adaptive.Kind
		after        time.Duration
	}{
		{"anthropic by field", 400, "anthropic-organization-id: a", `{"message":"You have reached your specified API usage limits"}`, terminal, 0, 0},
		{"anthropic by body", 400, "", `{"type":"error","error":{"message":"You have reached your specified workspace API usage limits"}}`, terminal, 0, 0},
		{"azure by field", 503, "azureml-model-session: a", "", overloaded, 0, 0},
		{"azure goes before openai", 503, "x-rate-limit-reset-tokens: 5\nx-ratelimit-limit-requests: 5", "", overloaded, 0, 5 * time.Second},
		{"azure's front door is anybody's", 503, "apim-request-id: a\nx-ms-region: West", "", transient, adaptive.KindOverload, 0},
		{"that of amazon too", 503, "x-amzn-requestid: a", "", transient, adaptive.KindOverload, 0},
		{"openai by field", 429, "openai-processing-ms: 5", `{"error":{"message":"Limit 5, Requested 6"}}`, ok, 0, 0},
		{"openai by body", 503, "", `{"error":{"message":"The engine is overloaded","type":"a","param":null,"code":null}}`, overloaded, 0, 0},
		{"groq by field", 498, "x-groq-region: us", `{"error":{"code":"capacity_exceeded","param":null}}`, overloaded, 0, 0},
		{"gemini by body", 503, "", `{"error":{"code":503,"message":"full","status":"UNAVAILABLE"}}`, overloaded, 0, 0},
		{"gemini by details", 429, "", `{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"PerDay"}]}]}}`, terminal, 0, 0},
		{"mistral by field", 503, "x-ratelimit-limit-req-minute: 5", "", overloaded, 0, 0},
		{"mistral by body", 503, "", `{"object":"error","message":"full","type":"x","param":null,"code":"1"}`, overloaded, 0, 0},
		{"notion by body", 503, "", `{"object":"error","status":503,"code":"service_unavailable"}`, overloaded, 0, 0},
		{"bedrock by the exception", 424, "x-amzn-errortype: ModelErrorException", "", transient, 0, 0},
		{"bedrock by a plain one", 503, "x-amzn-errortype: ServiceUnavailableException", "", overloaded, 0, 0},
		{"another exception of amazon", 503, "x-amzn-errortype: InternalFailure", "", transient, adaptive.KindOverload, 0},
		{"anthropic's event, with a space", 200, "", "event: error\ndata: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \"message\": \"Overloaded\"}}\n\n", overloaded, 0, 0},
		{"anthropic's event by its shape", 200, "", "data: {\"type\": \"error\", \"error\": {\"type\": \"rate_limit_error\"}}\n\n", hit, 0, 0},
		{"overloaded, as anybody says it after anthropic", 200, "", "data: {\"error\": {\"type\": \"overloaded_error\"}}\n\n", overloaded, 0, 0},
		{"bedrock by body", 424, "", `{"__type":"x"}`, transient, 0, 0},
		{"openrouter by body", 502, "", `{"error":{"code":502,"message":"x","metadata":{"provider_name":"y"}}}`, overloaded, 0, 0},
		{"deepseek by field", 429, "x-ds-trace-id: 5", "", hit, adaptive.KindConcurrency, 0},
		{"together by field", 503, "x-tokenlimit-limit: 5", "", overloaded, 0, 0},
		{"github by body", 403, "", `{"message":"You have exceeded a secondary rate limit","documentation_url":"x"}`, hit, 0, time.Minute},
		{"stripe by field", 429, "stripe-version: 5", `{"error":{"code":"lock_timeout","param":"x"}}`, transient, 0, 0},
		{"slack by body", 200, "", `{"ok":false,"error":"ratelimited"}`, hit, 0, 0},
		{"wikimedia by body", 200, "", `{"error":{"code":"maxlag"}}`, overloaded, 0, 0},
		{"shopify by body", 200, "", `{"errors":[{"extensions":{"code":"THROTTLED"}}]}`, hit, 0, 0},
		{"crossref by field", 429, "x-api-pool: public\nx-rate-limit-interval: 1s", "", hit, 0, time.Second},
		{"cohere by field", 429, "x-endpoint-monthly-call-limit: 5", `{"message":"calls / month"}`, terminal, 0, 0},
		{"nobody", 503, "server: nginx", "<html>", transient, adaptive.KindOverload, 0},
		{"the field goes before the body", 503, "stripe-version: 5", `{"error":{"status":"UNAVAILABLE","code":503}}`, transient, adaptive.KindOverload, 0},
		{"openai's imitators are not anthropic", 400, "", `{"error":{"message":"You have reached your specified API usage limits","param":null}}`, ok, 0, 0},
	} {
		f := dialect.Auto.Read(arrival(), tc.status, headerOf(tc.header), []byte(tc.body))
		assert.Equal(t, tc.verdict, f.Verdict, tc.about)
		assert.Equal(t, tc.kind, f.Kind, tc.about)
		assert.Equal(t, tc.after, f.RetryAfter, tc.about)
	}
}

// A gateway in front of an API does not hide the API's dialect.
func TestAutoBehindAGateway(t *testing.T) {
	for _, mark := range []string{"", "X-Amzn-Requestid", "X-Amzn-Errortype", "Apim-Request-Id", "X-Github-Request-Id", "X-Repo-Commit", "X-Ms-Region", "X-Api-Pool", "X-Shopid"} {
		for _, fields := range []string{"X-RateLimit-Limit: 100\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 30", "RateLimit: \"a\";r=0;t=30\nRateLimit-Policy: \"a\";q=100;w=60"} {
			h := headerOf(fields)
			if mark != "" {
				h.Set(mark, "TooManyRequestsException")
			}
			f := dialect.Auto.Read(arrival(), 429, h, nil)
			assert.Equal(t, hit, f.Verdict, "%s %s", mark, fields)
			assert.Equal(t, 30*time.Second, f.RetryAfter, "%s %s", mark, fields)
			assert.Equal(t, left(0, 100, 30*time.Second), f.Meters[throttle.Requests], "%s %s", mark, fields)
		}
	}
}

func TestAutoEstimatesByHostAndPath(t *testing.T) {
	body := []byte(`{"messages":[{"content":"eight by"}],"prompt":"","max_tokens":100,"n":2}`)
	sum, larger := int64(202), int64(100)
	for url, want := range map[string]int64{
		"https://api.openai.com/v1/chat/completions":                                larger,
		"https://API.OPENAI.COM:443/v1/chat/completions":                            larger,
		"https://gateway.example/v1/chat/completions":                               sum,
		"https://gateway.example/v1/messages":                                       sum,
		"https://gateway.example/openai/deployments/m/chat/completions":             sum,
		"https://generativelanguage.googleapis.com/v1beta/models/m:generateContent": 2,
		"https://gateway.example/v1beta/models/m:streamGenerateContent":             2,
		"https://gateway.example/v1beta/models/m:generateContent":                   2,
		"https://gateway.example/v1beta/models/m:embedContent":                      2,
		"https://gateway.example/v1beta/models/m:batchEmbedContents":                2,
	} {
		assert.Equal(t, want, dialect.Auto.Estimate(request("POST", url), body).Of(throttle.Tokens), url)
	}
	assert.Equal(t, sum, dialect.Auto.Estimate(nil, body).Of(throttle.Tokens))
	bare := []byte(`{"messages":[]}`)
	for _, path := range []string{"/model/m/converse", "/model/m/invoke-with-response-stream"} {
		assert.Equal(t, int64(4096), dialect.Auto.Estimate(request("POST", "https://vpce.example"+path), bare).Of(throttle.OutputTokens), path)
	}
}
