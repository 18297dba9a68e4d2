package dialect_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

const (
	ok         = adaptive.OK
	hit        = adaptive.Hit
	overloaded = adaptive.Overloaded
	transient  = adaptive.Transient
	terminal   = adaptive.Terminal
)

func TestVerdicts(t *testing.T) {
	for _, tc := range []struct {
		by           dialect.Name
		status       int
		header, body string
		want         adaptive.Verdict
	}{
		// What all have in common.
		{dialect.Generic, 0, "", "", adaptive.Unclassified},
		{dialect.Generic, 101, "", "", adaptive.Unclassified},
		{dialect.Generic, 600, "", "", adaptive.Unclassified},
		{dialect.Generic, 200, "", "", ok},
		{dialect.Generic, 304, "", "", ok},
		{dialect.Generic, 400, "", "", ok},
		{dialect.Generic, 404, "Retry-After: 5", "", ok},
		{dialect.Generic, 408, "", "", transient},
		{dialect.Generic, 413, "", "", ok},
		{dialect.Generic, 500, "", "", transient},
		{dialect.Generic, 500, "Retry-After: 5", "", transient},
		{dialect.Generic, 503, "Retry-After-Ms: 5", "", overloaded},
		{dialect.Generic, 504, "", "", transient},
		{dialect.Generic, 529, "", "", overloaded},
		{dialect.Generic, 429, "", `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","violated-policies":["day"]}`, hit},
		{dialect.Generic, 503, "", `{"message":"Slow down"}`, overloaded},
		{dialect.Generic, 429, "", `{"message":"Limit 5, Requested 6"}`, ok},
		{dialect.Generic, 503, "", `{"type":"https:\/\/iana.org\/assignments\/http-problem-types#temporary-reduced-capacity"}`, overloaded},
		{dialect.Generic, 429, "", `{"type":"https://iana.org/assignments/http-problem-types#abnormal-usage-detected"}`, terminal},
		{dialect.Generic, 403, "", `{"error":{"code":"billing_hard_limit_reached"}}`, terminal},
		{dialect.Generic, 429, "", `{"errors":[{"type":"insufficient_quota"}]}`, terminal},
		{dialect.Generic, 200, "", `{"choices":[{"error":{"code":429}}]}`, ok},
		{dialect.Generic, 200, "", `{"error":{"code":429}}`, hit},
		{dialect.Generic, 200, "", `{"error":{"code":"503","message":"x"}}`, transient},
		{dialect.Generic, 200, "", `{"error":null,"errors":[]}`, ok},
		{dialect.Generic, 200, "", `{"message":"rate limit","code":429}`, ok},

		// The header goes before the rules, but not before the money.
		{dialect.Generic, 400, "X-Should-Retry: true", "", transient},
		{dialect.Generic, 429, "X-Should-Retry: FALSE", "", hit},
		{dialect.Generic, 500, "X-Should-Retry: false", "", ok},
		{dialect.Generic, 413, "X-Should-Retry: false", "", ok},
		{dialect.Generic, 429, "X-Should-Retry: maybe", "", hit},
		{dialect.Generic, 429, "X-Should-Retry: true", "", hit},
		{dialect.Generic, 402, "X-Should-Retry: false", "", terminal},
		{dialect.Generic, 402, "X-Should-Retry: true", "", terminal},
		{dialect.Generic, 503, "X-Should-Retry: false\nRetry-After: 1", "", overloaded},
		{dialect.Generic, 200, "X-Should-Retry: true", "", ok},
		{dialect.Stripe, 409, "Stripe-Should-Retry: true", "", transient},

		// With status 200 only a stream closes the key.
		{dialect.Generic, 200, "", `[{"label":"a"},{"error":"insufficient_quota"}]`, ok},
		{dialect.Anthropic, 200, "", `{"error":{"type":"billing_error"}}`, ok},

		// With status 200 the error of a record is what was asked for.
		{dialect.Gemini, 200, "", `{"name":"operations/1","done":true,"error":{"code":429,"message":"quota"}}`, ok},
		{dialect.Gemini, 200, "", `{"name":"operations/1","error":{"code":429}}`, ok},
		{dialect.Gemini, 200, "", `{"error":{"code":429},"done":true}`, ok},
		{dialect.OpenAI, 200, "", `{"id":"batch_1","status":"failed","error":{"code":"rate_limit_exceeded"}}`, ok},
		{dialect.OpenAI, 200, "", `{"id":"batch_1","error":{"code":429}}`, ok},
		{dialect.OpenAI, 200, "", `{"status":"failed","errors":[{"code":429}]}`, ok},
		{dialect.OpenAI, 200, "", `{"object":"batch","error":{"code":429}}`, ok},
		{dialect.OpenAI, 200, "", `{"object":"error","error":{"code":429}}`, hit},
		{dialect.Auto, 200, "", `{"results":[{"a":1}],"errors":[{"code":429}]}`, ok},
		{dialect.Auto, 200, "", `{"results":[],"data":{},"errors":[{"code":429}]}`, hit},
		{dialect.Auto, 200, "", `{"data":{"viewer":null},"errors":[{"code":503}]}`, ok},
		{dialect.Auto, 200, "", `[{"error":{"code":429}}]`, hit},
		{dialect.Auto, 200, "", `[{"error":{"code":429,"id":"x"}}]`, hit},
		{dialect.Auto, 200, "", `[{"error":{"code":429},"id":"x"}]`, ok},
		{dialect.Auto, 200, "", `[{"ok":1,"error":{"code":429}}]`, hit},
		{dialect.Generic, 200, "", `[{"label":"a"},{"error":{"code":429}}]`, ok},
		{dialect.Anthropic, 200, "", `{"type":"error","error":{"type":"overloaded_error"},"request_id":"req_1"}`, overloaded},
		{dialect.OpenRouter, 200, "", `{"error":{"code":429,"metadata":{"headers":{"X-RateLimit-Limit":"1"}}},"user_id":"u"}`, hit},
		{dialect.Generic, 429, "", `{"id":"x","status":"failed","error":{"code":"insufficient_quota"}}`, terminal},
		{dialect.Generic, 200, "", "data: {\"id\":\"x\",\"error\":{\"code\":429}}\n", hit},
		{dialect.Slack, 200, "", `{"ok":false,"error":"ratelimited","channels":[1]}`, hit},
		{dialect.Wikimedia, 200, "", `{"warnings":{"a":1},"error":{"code":"ratelimited"},"servedby":"mw1"}`, hit},
		{dialect.Shopify, 200, "", `{"data":{"a":{"id":1}},"errors":[{"extensions":{"code":"THROTTLED"}}]}`, hit},
		{dialect.Generic, 200, "", `{"error":{"code":402}}`, terminal},
		{dialect.Generic, 200, "", "data: {\"error\":{\"code\":\"insufficient_quota\"}}\n", terminal},
		{dialect.Generic, 400, "", `{"error":"insufficient_quota"}`, terminal},

		// One provider's own.
		{dialect.Anthropic, 400, "", `{"type":"error","error":{"message":"prompt: 'You have reached your specified API usage limits' is too long"}}`, ok},
		{dialect.Anthropic, 400, "", `{"type":"error","error":{"message":"prompt: 'your credit balance is too low' is too long"}}`, ok},
		{dialect.Anthropic, 400, "", `{"details":"x","message":"You have reached your specified API usage limits"}`, terminal},
		{dialect.OpenAI, 503, "", "", transient},
		{dialect.OpenAI, 413, "", `{"error":{"message":"Request too large"}}`, ok},
		{dialect.OpenAI, 429, "", `{"error":{"message":"Limit 30000, Requested 30000."}}`, hit},
		{dialect.OpenAI, 429, "", `{"error":{"message":"the limit is high: Limit 30000, Requested 99999999999999999999"}}`, hit},
		{dialect.OpenAI, 200, "", "data: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"status\":429}\n\n", hit},
		{dialect.OpenAI, 200, "", "data: {\"choices\":[{\"delta\":{\"content\":\"\\\"error\\\"\"}}]}\n\ndata: [DONE]\n\n", ok},
		{dialect.OpenAI, 200, "", "event: x\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"insufficient_quota\"}}}\n", terminal},
		{dialect.Azure, 503, "", "", overloaded},
		{dialect.Azure, 503, "", `{"error":{"message":"Slow down"}}`, overloaded},
		{dialect.Anthropic, 409, "", `{"type":"error","error":{"type":"conflict_error"}}`, ok},
		{dialect.Anthropic, 200, "", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}\n", hit},
		{dialect.Anthropic, 200, "", "event: error\ndata: {\"type\": \"error\", \"error\": {\"type\": \"api_error\"}}\n", transient},
		{dialect.Gemini, 429, "", `{"error":{"message":"Quota exceeded, limit: 0"}}`, ok},
		{dialect.Gemini, 429, "", `{"error":{"message":"Quota exceeded, limit: 0.5"}}`, hit},
		{dialect.Gemini, 429, "", `{"error":{"message":"limit: 05, limit: 0, model: x"}}`, ok},
		{dialect.Gemini, 429, "", `{"error":{"details":[{"violations":[{"quotaValue":0}]}]}}`, ok},
		{dialect.Gemini, 429, "", `{"error":{"details":[{"violations":[{"quotaValue":20}]}]}}`, hit},
		{dialect.Gemini, 429, "", `{"error":{"details":[{"violations":[{"quotaValue":"0"},{"quotaValue":"5"}]}]}}`, ok},
		{dialect.Gemini, 429, "", `{"error":{"details":[{"retryDelay":"-5s"},{"violations":[{"quotaId":"PerDay"}]}]}}`, terminal},
		{dialect.Gemini, 429, "", `{"error":{"details":[{"violations":[{"quotaId":"PerDay"},{"quotaId":"PerMinute"}]}]}}`, terminal},
		{dialect.Gemini, 429, "", `{"error":{"details":[{"violations":[{"quotaId":"PerDay"},{"quotaId":"PerMinute"}]},{"retryDelay":"46s"}]}}`, hit},
		{dialect.Gemini, 429, "", `{"error":{"details":[{"retryDelay":"119.9s"},{"violations":[{"quotaId":"PerDay"}]}]}}`, hit},
		{dialect.Gemini, 429, "", `{"error":{"details":[{"retryDelay":"120s"},{"violations":[{"quotaId":"PerDay"}]}]}}`, terminal},
		{dialect.Gemini, 429, "", `{"error":{"details":[{"violations":["PerDay",7,null]},{"violations":{}}]}}`, hit},
		{dialect.Mistral, 402, "", "", terminal},
		{dialect.Groq, 503, "", "", overloaded},
		{dialect.Cohere, 429, "", `{"message":"limited to 1000 API calls / month"}`, terminal},
		{dialect.Cohere, 429, "", `{"message":"limited to 20 API calls / minute"}`, hit},
		{dialect.Bedrock, 400, "", `{"__type":"com.amazon.coral.service#ThrottlingException","message":"x"}`, hit},
		{dialect.Bedrock, 408, "X-Amzn-Errortype: ModelTimeoutException:http://internal.amazon.com/", "", transient},
		{dialect.Bedrock, 424, "", "", transient},
		{dialect.Bedrock, 529, "", "", overloaded},
		{dialect.Bedrock, 503, "", "", overloaded},
		{dialect.DeepSeek, 402, "", `{"error":{"message":"Insufficient Balance"}}`, terminal},
		{dialect.DeepSeek, 503, "", "", overloaded},
		{dialect.DeepSeek, 200, "", "\n\n: keep-alive\n\n: keep-alive\n\n{\"choices\":[]}", ok},
		{dialect.Fireworks, 503, "", `{"error":{"message":"Service Overloaded"}}`, overloaded},
		{dialect.Fireworks, 503, "", "", transient},
		{dialect.OpenRouter, 502, "", "", overloaded},
		{dialect.GitHub, 429, "", "", hit},
		{dialect.GitHub, 403, "X-Ratelimit-Remaining: 0", "", hit},
		{dialect.GitHub, 403, "Retry-After: 9", "", hit},
		{dialect.GitHub, 404, "X-Ratelimit-Remaining: 0", "", ok},
		{dialect.Stripe, 429, "Stripe-Rate-Limited-Reason: resource-specific", `{"error":{"code":"lock_timeout"}}`, hit},
		{dialect.Slack, 200, "", `{"ok":false,"error":"ratelimited"}`, hit},
		{dialect.Slack, 200, "", `{"ok":false,"error":"channel_not_found"}`, ok},
		{dialect.Notion, 503, "", "", overloaded},
		{dialect.Wikimedia, 200, "", `{"error":{"code":"ratelimited"}}`, hit},
		{dialect.Wikimedia, 403, "", "Please set a user-agent", ok},
		{dialect.NCBI, 400, "", `{"error":"API rate limit exceeded","count":"11"}`, hit},
		{dialect.Nominatim, 403, "", "", terminal},
		{dialect.Nominatim, 429, "", "", terminal},
		{"elvish", 429, "", "", hit},
	} {
		f := tc.by.Read(arrival(), tc.status, headerOf(tc.header), []byte(tc.body))
		assert.Equal(t, tc.want, f.Verdict, "%s %d %s %s", tc.by, tc.status, tc.header, tc.body)
		if tc.want == ok || tc.want == adaptive.Unclassified {
			assert.Zero(t, f.RetryAfter)
			assert.Zero(t, f.SlowDown)
			assert.Zero(t, f.Kind)
		}
	}
}

func TestSlowDown(t *testing.T) {
	assert.True(t, dialect.Azure.Read(arrival(), 503, nil, []byte(`{"message":"Slow down"}`)).SlowDown)
	assert.True(t, dialect.Anthropic.Read(arrival(), 429, nil, []byte(`{"message":"maximum usage increase rate"}`)).SlowDown)
	assert.True(t, dialect.Generic.Read(arrival(), 503, nil, []byte(`{"error":{"code":"slow_down"}}`)).SlowDown)
	assert.True(t, dialect.Generic.Read(arrival(), 429, nil, []byte(`{"error":{"code":"slow_down"}}`)).SlowDown)
	assert.False(t, dialect.Generic.Read(arrival(), 429, nil, []byte(`{"error":"Please slow down."}`)).SlowDown)
	assert.False(t, dialect.Generic.Read(arrival(), 429, nil, nil).SlowDown)
	spend := dialect.Gemini.Read(arrival(), 429, nil, []byte(`{"message":"spend-based limit"}`))
	assert.True(t, spend.SlowDown)
	assert.Equal(t, time.Minute, spend.RetryAfter)
	refused := http.Header{"X-Should-Retry": {"false"}}
	assert.True(t, dialect.Azure.Read(arrival(), 503, refused, []byte(`{"message":"Slow down"}`)).SlowDown)
}

// A rejection that asks not to retry is still a rejection.
func TestFinal(t *testing.T) {
	for _, tc := range []struct {
		status int
		header string
		final  bool
	}{
		{429, "", false},
		{429, "X-Should-Retry: true", false},
		{429, "X-Should-Retry: false", true},
		{529, "X-Should-Retry: false", true},
		{402, "X-Should-Retry: false", false},
		{500, "X-Should-Retry: false", false},
		{400, "X-Should-Retry: false", false},
	} {
		f := dialect.Generic.Read(arrival(), tc.status, headerOf(tc.header+"\nRetry-After: 30"), []byte(`{"error":{"type":"tokens"}}`))
		assert.Equal(t, tc.final, f.Final, "%d %s", tc.status, tc.header)
		if tc.final {
			assert.Equal(t, 30*time.Second, f.RetryAfter)
		}
	}
	f := dialect.Generic.Read(arrival(), 429, headerOf("X-Should-Retry: false"), []byte(`{"error":{"type":"tokens"}}`))
	assert.Equal(t, adaptive.KindTokens, f.Kind)
}

func TestKinds(t *testing.T) {
	for body, want := range map[string]adaptive.Kind{
		`{"error":{"type":"requests"}}`:                                    adaptive.KindRequests,
		`{"error":{"type":"tokens"}}`:                                      adaptive.KindTokens,
		`{"error":{"code":"concurrency"}}`:                                 adaptive.KindConcurrency,
		`{"error":{"message":"Number of concurrent connections too high"}`: adaptive.KindConcurrency,
		`{"error":{"message":"on tokens per day (TPD): Limit 1"}`:          adaptive.KindTokens,
		`{"error":{"message":"5 requests per second"}`:                     adaptive.KindRequests,
		`{"error":{"message":"Too Many Requests"}`:                         adaptive.UnknownKind,
		`{"error":"Too Many Requests"`:                                     adaptive.UnknownKind,
		`Too many tokens per minute`:                                       adaptive.UnknownKind, // not JSON
		``:                                                                 adaptive.UnknownKind,
	} {
		assert.Equal(t, want, dialect.Generic.Read(arrival(), 429, nil, []byte(body)).Kind, body)
	}
	metrics := `{"details":[{"violations":[{"quotaMetric":"a/input_token_count"},{"quotaMetric":"a/requests"}]}]}`
	assert.Equal(t, adaptive.KindTokens, dialect.Gemini.Read(arrival(), 429, nil, []byte(metrics)).Kind, "the first")
	empty := headerOf("x-ratelimit-remaining-tokens: 0\nx-ratelimit-reset-tokens: 5s\nx-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 1m0s")
	f := dialect.OpenAI.Read(arrival(), 429, empty, nil)
	assert.Equal(t, adaptive.KindRequests, f.Kind, "what is back last")
	assert.Equal(t, time.Minute, f.RetryAfter, "then all is back")
	assert.Equal(t, adaptive.KindTokens, dialect.OpenAI.Read(arrival(), 429, empty, []byte(`{"type":"tokens"}`)).Kind, "the body knows")
	empty = headerOf("x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 5s\nx-ratelimit-remaining-tokens: 0\nx-ratelimit-reset-tokens: 1m0s")
	f = dialect.OpenAI.Read(arrival(), 429, empty, nil)
	assert.Equal(t, adaptive.KindTokens, f.Kind, "what is back last, if it is read last")
	assert.Equal(t, time.Minute, f.RetryAfter)
	assert.Zero(t, dialect.OpenAI.Read(arrival(), 503, headerOf("Retry-After: 1"), []byte(`{"type":"tokens"}`)).Kind, "nobody's limit")
}

// A wait is passed on as it was asked for, up to a century. A reset is at most a month away.
func TestLongWaits(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"31536000":                      8760 * time.Hour,
		"8760h0m0s":                     8760 * time.Hour,
		"99999999999999999999":          876_000 * time.Hour,
		"Fri, 31 Dec 9999 23:59:59 GMT": 876_000 * time.Hour,
		"-5":                            0,
		"NaN":                           0,
		"Infinity":                      0,
		"1e300":                         0,
		"0x10":                          0,
	} {
		assert.Equal(t, want, dialect.Generic.Read(arrival(), 429, headerOf("Retry-After: "+value), nil).RetryAfter, value)
	}
	f := dialect.Generic.Read(arrival(), 429, headerOf("X-Ratelimit-Limit: 9\nX-Ratelimit-Remaining: 0\nX-Ratelimit-Reset: 8760h0m0s"), nil)
	assert.Equal(t, 744*time.Hour, f.RetryAfter)
	assert.Equal(t, 744*time.Hour, f.Meters[throttle.Requests].Reset)
}

// A provider may have another time than we have.
func TestAnotherClock(t *testing.T) {
	theirs := arrival().AddDate(-3, 0, 0)
	h := http.Header{"Date": {theirs.Format(http.TimeFormat)}, "Retry-After": {theirs.Add(time.Second).Format(http.TimeFormat)}}
	assert.Equal(t, time.Second, dialect.Auto.Read(arrival(), 429, h, nil).RetryAfter)
}

// Each hint in turn is taken away, and the next one counts.
func TestWhichWaitCounts(t *testing.T) {
	body := `{"error":{"message":"Please try again in 9s.","details":[{"retryDelay":"7s"}]}}`
	h := headerOf("Retry-After-Ms: 1500\nRetry-After: 3\nX-Ratelimit-Remaining: 0\nX-Ratelimit-Reset: 8")
	after := func() time.Duration { return dialect.Generic.Read(arrival(), 429, h, []byte(body)).RetryAfter }
	assert.Equal(t, 1500*time.Millisecond, after())
	h.Set("Retry-After-Ms", "-1")
	assert.Equal(t, 3*time.Second, after())
	h.Set("Retry-After", "2.5s") // not by the RFC
	assert.Equal(t, 2500*time.Millisecond, after())
	h.Set("Retry-After", "soon")
	assert.Equal(t, 7*time.Second, after())
	body = `{"error":{"message":"Please try again in 9s."}}`
	assert.Equal(t, 8*time.Second, after())
	h.Set("X-Ratelimit-Remaining", "1")
	assert.Equal(t, 9*time.Second, after())
	body = ""
	assert.Zero(t, after())

	h = headerOf("Retry-After: 0\nX-Ratelimit-Remaining: 0\nX-Ratelimit-Reset: 8")
	assert.Zero(t, after(), "it says now")
	h = headerOf("Retry-After: 99999999999")
	assert.Equal(t, 876_000*time.Hour, after())
	assert.Equal(t, 3*time.Second, dialect.Arxiv.Read(arrival(), 429, nil, nil).RetryAfter)
}

func TestSource(t *testing.T) {
	for body, want := range map[string]string{
		``: "status 429",
		`{"error":{"type":"requests","code":"rate_limit_exceeded"}}`: "status 429 requests",
		`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}`:       "status 429 resource_exhausted",
		`{"type":"error","error":{"type":"rate_limit_error"}}`:       "status 429 rate_limit_error",
		`{"error":"API key sk-123 is limited"}`:                      "status 429",
	} {
		assert.Equal(t, want, dialect.Generic.Read(arrival(), 429, nil, []byte(body)).Source, body)
	}
	assert.Empty(t, dialect.Generic.Read(arrival(), 200, nil, nil).Source)
}

// A body that was cut off says as much as it has.
func TestCutOffBodies(t *testing.T) {
	body := `{"error":{"message":"on tokens per min (TPM)","type":"insufficient_quota","param":null,"code":"x"},"filler":"` + strings.Repeat("x", 100)
	whole := strings.Index(body, `,"param"`)
	for n := range len(body) {
		f := dialect.OpenAI.Read(arrival(), 429, nil, []byte(body[:n]))
		if n >= whole {
			assert.Equal(t, terminal, f.Verdict, body[:n])
		} else {
			assert.NotEqual(t, ok, f.Verdict, body[:n])
		}
	}
}

func TestHugeBodies(t *testing.T) {
	usage := `],"usage":{"prompt_tokens":5,"total_tokens":5}}`
	vectors := `{"object":"list","data":[` + strings.Repeat("0.25,", 1<<20) + "0"
	f := dialect.OpenAI.Read(arrival(), 200, nil, []byte(vectors+usage))
	assert.Equal(t, throttle.Cost{Tokens: 5, Input: 5}, f.Used, "at the end of what is not read whole")
	quoted := strings.Repeat("x", 5<<20) + `\"usage\":{\"total_tokens\":9}"}`
	assert.Zero(t, dialect.OpenAI.Read(arrival(), 200, nil, []byte(`{"text":"`+quoted)).Used, "that is the model's text")
	tooFar := `{"error":{"message":"` + strings.Repeat("x", 1<<20) + `","code":"insufficient_quota"}}`
	assert.Equal(t, hit, dialect.OpenAI.Read(arrival(), 429, nil, []byte(tooFar)).Verdict)
	deep := strings.Repeat(`{"error":[`, 1<<20)
	assert.Equal(t, hit, dialect.OpenAI.Read(arrival(), 429, nil, []byte(deep)).Verdict)
	head := `{"error":{"code":429},"data":"` + strings.Repeat("x", 5<<20) + `"}`
	assert.Equal(t, ok, dialect.OpenAI.Read(arrival(), 200, nil, []byte(head)).Verdict, "only the end of it is read")
	nested := strings.Repeat(`[`, 20) + `{"code":"insufficient_quota"}`
	assert.Equal(t, hit, dialect.OpenAI.Read(arrival(), 429, nil, []byte(nested)).Verdict)
	long := `{"error":{"message":"` + strings.Repeat("x", 3<<10) + ` tokens per minute"}}`
	assert.Zero(t, dialect.OpenAI.Read(arrival(), 429, nil, []byte(long)).Kind)
	codes := `{"error":[` + strings.Repeat(`{"code":"a"},`, 1<<12) + `{"code":"insufficient_quota"}]}`
	assert.Equal(t, hit, dialect.OpenAI.Read(arrival(), 429, nil, []byte(codes)).Verdict)
}

// Of header fields in a body those that tell of limits count, where the real ones do not tell otherwise.
func TestHeadersInTheBody(t *testing.T) {
	body := func(fields string) []byte {
		return []byte(`{"error":{"code":429,"metadata":{"headers":{` + fields + `}}}}`)
	}
	f := dialect.OpenRouter.Read(arrival(), 429, nil, body(`"retry-after":"7","x-should-retry":"false","Other":7`))
	assert.Equal(t, hit, f.Verdict)
	assert.Equal(t, 7*time.Second, f.RetryAfter)
	f = dialect.OpenRouter.Read(arrival(), 429, headerOf("Retry-After: 9"), body(`"Retry-After":"7"`))
	assert.Equal(t, 9*time.Second, f.RetryAfter)
	many := ""
	for letter := range strings.SplitSeq("abcdefghijklmnop", "") {
		many = `"x-ratelimit-` + letter + `":"1",` + many
	}
	assert.Zero(t, dialect.OpenRouter.Read(arrival(), 429, nil, body(many+`"Retry-After":"7"`)).RetryAfter)
	assert.Equal(t, hit, dialect.OpenRouter.Read(arrival(), 429, nil, []byte(`{"metadata":{"headers":["Retry-After"]}}`)).Verdict)
}

func TestUsed(t *testing.T) {
	for _, tc := range []struct {
		by           dialect.Name
		header, body string
		want         throttle.Cost
	}{
		{dialect.OpenAI, "", `{"usage":{"total_tokens":7}}`, throttle.Cost{Tokens: 7, Input: 7}},
		{dialect.OpenAI, "", `{"usage":{"prompt_tokens":-7,"completion_tokens":1e99,"total_tokens":"7"}}`, throttle.Cost{Output: throttle.MaxAmount}},
		{dialect.OpenAI, "", `{"usage":null}`, throttle.Cost{}},
		{dialect.OpenAI, "", `{"usage":[{"total_tokens":7}]}`, throttle.Cost{}},
		{dialect.OpenAI, "", `{"choices":[{"message":{"content":"","usage":{"total_tokens":7}}}]}`, throttle.Cost{}},
		{
			dialect.OpenAI, "", "data: {\"usage\":null}\n\ndata: {\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2,\"total_tokens\":6}}\n\ndata: [DONE]\n",
			throttle.Cost{Tokens: 6, Input: 4, Output: 2},
		},
		{
			dialect.Anthropic, "", "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}\n\n" +
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":15}}\n", throttle.Cost{Input: 25, Output: 15},
		},
		{dialect.Gemini, "", `[{"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2,"thoughtsTokenCount":3}}]`, throttle.Cost{Tokens: 9, Input: 9, Output: 5}},
		{dialect.Cohere, "", `{"meta":{"billed_units":{"input_tokens":3,"output_tokens":4}}}`, throttle.Cost{Input: 3, Output: 4}},
		{dialect.Bedrock, "", `{"usage":{"inputTokens":3,"outputTokens":4,"cacheReadInputTokens":5}}`, throttle.Cost{Input: 8, Output: 4}},
		{dialect.Bedrock, "X-Amzn-Bedrock-Input-Token-Count: 3\nX-Amzn-Bedrock-Output-Token-Count: 4", "", throttle.Cost{Input: 3, Output: 4}},
		{dialect.Mistral, "X-Ratelimit-Tokens-Query-Cost: 33", `{"usage":{"prompt_tokens":3,"total_tokens":3}}`, throttle.Cost{Tokens: 33, Input: 3}},
		{dialect.Fireworks, "Fireworks-Prompt-Tokens: 33", "", throttle.Cost{Input: 33}},
		{dialect.Groq, "", `{"x_groq":{"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}}`, throttle.Cost{Tokens: 4, Input: 3, Output: 1}},
		{dialect.OpenAI, "", `{"error":{ },"errors":[],"usage":{"total_tokens":7}}`, throttle.Cost{Tokens: 7, Input: 7}},
		{dialect.Shopify, "", `{"errors":[{"message":"no such field"}],"extensions":{"cost":{"actualQueryCost":7}}}`, throttle.Cost{Points: 7}},
		{dialect.Shopify, "", `{"extensions":{"cost":{"actualQueryCost":7}}}`, throttle.Cost{Points: 7}},
	} {
		assert.Equal(t, tc.want, tc.by.Read(arrival(), 200, headerOf(tc.header), []byte(tc.body)).Used, "%s %s", tc.by, tc.body)
	}
	assert.Zero(t, dialect.OpenAI.Read(arrival(), 400, nil, []byte(`{"usage":{"total_tokens":7}}`)).Used, "what was refused has cost nothing")
}

// The order of the keys and what stands beside them do not matter.
func TestAnErrorIsReadWhereverItStands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := []string{`"code":"insufficient_quota"`, `"message":"no \"money\" {["`, `"param":null`, `"x":{"code":[1,{"type":"y"}]}`, `"n":-1.5e3`}
		body := "{" + strings.Join(rapid.Permutation(members).Draw(t, "members"), rapid.SampledFrom([]string{",", " ,\n"}).Draw(t, "comma")) + "}"
		for range rapid.IntRange(0, 3).Draw(t, "depth") {
			body = rapid.SampledFrom([]func(string) string{
				func(s string) string { return `{"error":` + s + `}` },
				func(s string) string { return `[` + s + `]` },
				func(s string) string { return `{"errors":[` + s + `]}` },
				func(s string) string { return `{"id":"1","details":` + s + `,"z":[]}` },
			}).Draw(t, "around")(body)
		}
		assert.Equal(t, terminal, dialect.OpenAI.Read(arrival(), 429, nil, []byte(body)).Verdict, body)
	})
}
