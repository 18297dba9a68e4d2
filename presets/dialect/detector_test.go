package dialect_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// fullError has what the errors of the official SDKs have.
type fullError struct {
	Code, Type string
	StatusCode int
	Response   *http.Response
	raw        string
}

func (e *fullError) Error() string   { return "sdk" }
func (e *fullError) RawJSON() string { return e.raw }

func answered(status int, header, raw string) *fullError {
	return &fullError{StatusCode: status, Response: &http.Response{StatusCode: status, Header: headerOf(header)}, raw: raw}
}

func TestDetector(t *testing.T) {
	refusal := answered(429, "Retry-After: 3\nx-ratelimit-limit-requests: 60\nx-ratelimit-remaining-requests: 0", `{"type":"tokens","code":"rate_limit_exceeded"}`)
	for _, d := range []dialect.Dialect{dialect.OpenAI, dialect.Auto, nil} {
		err := fmt.Errorf("item 7: %w", refusal)
		f := dialect.Detector(d)(err)
		assert.Equal(t, hit, f.Verdict)
		assert.Equal(t, adaptive.KindTokens, f.Kind)
		assert.Equal(t, 3*time.Second, f.RetryAfter)
		assert.Equal(t, int64(60), f.Meters[throttle.Requests].Limit)
		assert.Equal(t, err, f.Err)
	}
	detect := dialect.Detector(dialect.OpenAI)
	assert.Zero(t, detect(io.EOF), "not an answer")
	assert.Zero(t, detect(nil))
	assert.Equal(t, ok, detect(answered(400, "", `{"message":"no"}`)).Verdict)
	assert.Equal(t, terminal, detect(answered(429, "", `{"code":"insufficient_quota"}`)).Verdict)
}

func TestDetectorLeavesTheUsersOwnHitAlone(t *testing.T) {
	own := &adaptive.RateLimitHit{Kind: adaptive.KindTokens, Cause: answered(500, "", "")}
	assert.Zero(t, dialect.Detector(dialect.OpenAI)(fmt.Errorf("x: %w", own)))
	assert.Equal(t, hit, adaptive.Classify(dialect.Detector(dialect.OpenAI), own).Verdict)
}

// The errors of SDKs, in the shapes that they have.

type genaiError struct { // google.golang.org/genai
	Code            int
	Message, Status string
	Details         []map[string]any
}

func (e genaiError) Error() string { return "Error: " + e.Message }

type googleError struct { // google.golang.org/api/googleapi
	Code    int
	Message string
	Details []any
	Body    string
	Header  http.Header
	err     error
}

func (e *googleError) Error() string { return "googleapi" }
func (e *googleError) Unwrap() error { return e.err }

type smithyResponse struct{ *http.Response }

type smithyError struct {
	Response *smithyResponse
	Err      error
}

func (e *smithyError) HTTPStatusCode() int { return e.Response.StatusCode }
func (e *smithyError) Error() string       { return "http response error" }
func (e *smithyError) Unwrap() error       { return e.Err }

type awsError struct { // github.com/aws/aws-sdk-go-v2/aws/transport/http
	*smithyError
	RequestID string
}

type awsExceptionError struct{ code, message string }

func (e *awsExceptionError) Error() string        { return e.code }
func (e *awsExceptionError) ErrorCode() string    { return e.code }
func (e *awsExceptionError) ErrorMessage() string { return e.message }

func aws(status int, header, code, message string) error {
	r := &smithyResponse{&http.Response{StatusCode: status, Header: headerOf(header)}}
	return fmt.Errorf("operation error Bedrock Runtime: %w", &awsError{&smithyError{r, &awsExceptionError{code, message}}, "r"})
}

type cohereError struct { // github.com/cohere-ai/cohere-go/v2/core
	err        error
	StatusCode int
	Header     http.Header
}

func (e *cohereError) Error() string { return fmt.Sprintf("%d: %v", e.StatusCode, e.err) }
func (e *cohereError) Unwrap() error { return e.err }

type cohereTooManyError struct {
	*cohereError
	Body any
}

type communityError struct { // github.com/sashabaranov/go-openai
	Code           any
	Message, Type  string
	Param          *string
	HTTPStatusCode int
}

func (e *communityError) Error() string { return "error, message: " + e.Message }

type azureError struct { // github.com/Azure/azure-sdk-for-go/sdk/azcore
	ErrorCode   string
	StatusCode  int
	RawResponse *http.Response
}

func (e *azureError) Error() string { return "RESPONSE 429" }

func TestDetectorReadsTheErrorsOfSDKs(t *testing.T) {
	retryInfo := map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "46s"}
	daily := map[string]any{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []any{map[string]any{"quotaId": "RequestsPerDay"}}}
	body := `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"46s"}]}}`
	for name, tc := range map[string]struct {
		by   dialect.Dialect
		err  error
		want adaptive.Feedback
	}{
		"genai":            {dialect.Gemini, genaiError{429, "Quota", "RESOURCE_EXHAUSTED", []map[string]any{retryInfo}}, adaptive.Feedback{Verdict: hit, RetryAfter: 46 * time.Second, Source: "status 429 resource_exhausted"}},
		"genai, by Auto":   {nil, fmt.Errorf("x: %w", genaiError{503, "overloaded", "UNAVAILABLE", nil}), adaptive.Feedback{Verdict: overloaded, Source: "status 503 unavailable"}},
		"genai, the day's": {dialect.Gemini, genaiError{429, "Quota", "RESOURCE_EXHAUSTED", []map[string]any{daily}}, adaptive.Feedback{Verdict: terminal, Source: "status 429 resource_exhausted"}},
		"genai, 404":       {dialect.Gemini, genaiError{404, "no such model", "NOT_FOUND", nil}, adaptive.Feedback{Verdict: ok, Source: "status 404 not_found"}},
		"googleapi":        {dialect.Gemini, &googleError{Code: 429, Message: "Quota", Body: body, Header: headerOf("Retry-After: 9")}, adaptive.Feedback{Verdict: hit, RetryAfter: 9 * time.Second, Source: "status 429 resource_exhausted"}},
		"googleapi, body":  {dialect.Gemini, &googleError{Code: 429, Body: body, err: io.EOF}, adaptive.Feedback{Verdict: hit, RetryAfter: 46 * time.Second, Source: "status 429 resource_exhausted"}},
		"googleapi, 503":   {dialect.Gemini, &googleError{Code: 503, Message: "x"}, adaptive.Feedback{Verdict: overloaded, Source: "status 503"}},
		"aws, quota":       {dialect.Bedrock, aws(400, "", "ServiceQuotaExceededException", "Quota."), adaptive.Feedback{Verdict: terminal, Source: "status 400 servicequotaexceededexception"}},
		"aws, throttled": {
			nil, aws(400, "Retry-After: 9", "ThrottlingException", "Too many requests, please wait."),
			adaptive.Feedback{Verdict: hit, Kind: adaptive.KindRequests, RetryAfter: 9 * time.Second, Source: "status 400 throttlingexception"},
		},
		"cohere": {
			dialect.Cohere, &cohereTooManyError{&cohereError{errors.New(`{"message":"20 calls / minute"}`), 429, headerOf("Retry-After: 9")}, nil},
			adaptive.Feedback{Verdict: hit, RetryAfter: 9 * time.Second, Source: "status 429"},
		},
		"cohere, the month's": {
			dialect.Cohere, &cohereError{errors.New(`{"message":"1000 calls / month"}`), 429, nil},
			adaptive.Feedback{Verdict: terminal, Source: "status 429"},
		},
		"community, wait": {
			dialect.OpenAI, &communityError{Code: "rate_limit_exceeded", Type: "tokens", Message: "Please try again in 2s.", HTTPStatusCode: 429},
			adaptive.Feedback{Verdict: hit, Kind: adaptive.KindTokens, RetryAfter: 2 * time.Second, Source: "status 429 rate_limit_exceeded"},
		},
		"community, too large":  {dialect.OpenAI, &communityError{Message: "Limit 30000, Requested 40000", HTTPStatusCode: 429}, adaptive.Feedback{Verdict: ok, Source: "status 429"}},
		"community, slow":       {dialect.OpenAI, &communityError{Code: "slow_down", HTTPStatusCode: 429}, adaptive.Feedback{Verdict: hit, SlowDown: true, Source: "status 429 slow_down"}},
		"community, 503":        {dialect.OpenAI, &communityError{Code: 503, Message: "Slow Down", HTTPStatusCode: 503}, adaptive.Feedback{Verdict: overloaded, SlowDown: true, Source: "status 503"}},
		"community, no credits": {dialect.XAI, &communityError{Message: "used all available credits", HTTPStatusCode: 403}, adaptive.Feedback{Verdict: terminal, Source: "status 403"}},
		"azure": {
			dialect.Azure, &azureError{"too_many_requests", 429, &http.Response{StatusCode: http.StatusTooManyRequests, Header: headerOf("Retry-After-Ms: 750")}},
			adaptive.Feedback{Verdict: hit, RetryAfter: 750 * time.Millisecond, Source: "status 429 too_many_requests"},
		},
		"github": {dialect.GitHub, answered(403, "Retry-After: 9", ""), adaptive.Feedback{Verdict: hit, RetryAfter: 9 * time.Second, Source: "status 403"}},
	} {
		tc.want.Err = tc.err
		assert.Equal(t, tc.want, dialect.Detector(tc.by)(tc.err), name)
	}
}

// An error that keeps no body has its code in fields.
func TestDetectorWithoutABody(t *testing.T) {
	detect := dialect.Detector(dialect.OpenAI)
	e := answered(429, "x-ratelimit-limit-requests: 60\nx-ratelimit-remaining-requests: 0", "")
	assert.Equal(t, hit, detect(e).Verdict)
	assert.Equal(t, adaptive.KindTokens, detect(&fullError{StatusCode: 429, Type: "tokens"}).Kind)
	e.Code = "insufficient_quota"
	f := detect(e)
	assert.Equal(t, terminal, f.Verdict)
	assert.Zero(t, f.Kind)
	assert.True(t, f.Meters[throttle.Requests].Known)
	assert.Equal(t, overloaded, dialect.Detector(dialect.Azure)(&fullError{StatusCode: 503}).Verdict)
}
