package adaptive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
)

// The errors of other people's packages, in the shapes that they have.

type statusError int

func (e statusError) Error() string   { return fmt.Sprintf("answer %d", int(e)) }
func (e statusError) StatusCode() int { return int(e) }

type httpStatusError int

func (e httpStatusError) Error() string       { return "refused" }
func (e httpStatusError) HTTPStatusCode() int { return int(e) }

// sdkError has the fields of the official SDKs.
type sdkError struct {
	Code, Type string
	StatusCode int
	Response   *http.Response
	message    string
}

func (e *sdkError) Error() string { return "sdk: " + e.message }

type valueError struct{ StatusCode int64 }

func (e valueError) Error() string { return "value" }

type communityError struct {
	HTTPStatusCode int
	Code           any
	Type           *string
}

func (e *communityError) Error() string { return "community sdk" }

type responseError struct{ Response *http.Response }

func (e responseError) Error() string { return "response" }

// misleading has the right names for the wrong things.
type misleading struct {
	StatusCode string
	Response   string
	Code       int
	Type       struct{}
}

func (e misleading) Error() string { return "misleading" }

// embedding panics when the field StatusCode is looked up by reflection.
type embedding struct{ *valueError }

func (e embedding) Error() string   { return "embedding" }
func (e embedding) StatusCode() int { return 429 }
func (e embedding) Unwrap() error   { panic("unwrap") }
func (e embedding) Is(error) bool   { panic("is") }
func (e embedding) As(any) bool     { panic("as") }

// silent panics when it is asked for its text.
type silent struct{ error }

func (e silent) StatusCode() int { return 429 }

type panickingError struct{}

func (panickingError) Error() string   { return "status 429" }
func (panickingError) StatusCode() int { panic("status") }

// answered is the error for a response with that status and header.
func answered(status int, header ...string) responseError {
	r := responseError{&http.Response{StatusCode: status, Header: http.Header{}}}
	for i := 0; i < len(header); i += 2 {
		r.Response.Header.Set(header[i], header[i+1])
	}
	return r
}

func TestDefaultDetector(t *testing.T) {
	own := &adaptive.RateLimitHit{Kind: adaptive.KindTokens, RetryAfter: time.Minute, Source: "me"}
	ownFeedback := adaptive.Feedback{Verdict: adaptive.Hit, Kind: adaptive.KindTokens, RetryAfter: time.Minute, Source: "me"}
	hit := adaptive.Feedback{Verdict: adaptive.Hit, Source: "status 429"}
	text := adaptive.Feedback{Verdict: adaptive.Hit, Source: "text"}
	quota := "insufficient_quota"
	with := func(f adaptive.Feedback, k adaptive.Kind, after time.Duration) adaptive.Feedback {
		f.Kind, f.RetryAfter = k, after
		return f
	}
	judged := func(v adaptive.Verdict, status int) adaptive.Feedback {
		return adaptive.Feedback{Verdict: v, Source: fmt.Sprintf("status %d", status)}
	}
	for _, tc := range []struct {
		name string
		err  error
		want adaptive.Feedback
	}{
		{"our own", own, ownFeedback},
		{"our own, wrapped", fmt.Errorf("item 7: %w", own), ownFeedback},
		{"our own, joined", errors.Join(io.EOF, fmt.Errorf("item 7: %w", own)), ownFeedback},
		{"our own goes before a status", fmt.Errorf("%w: %w", statusError(500), own), ownFeedback},
		{"the outermost of our own", &adaptive.RateLimitHit{Source: "out", Cause: own}, adaptive.Feedback{Verdict: adaptive.Hit, Source: "out"}},

		{"method", statusError(429), hit},
		{"method, wrapped twice", fmt.Errorf("a: %w", errors.Join(io.EOF, fmt.Errorf("b: %w", statusError(429)))), hit},
		{"other method", httpStatusError(429), hit},
		{"field of a pointer", &sdkError{StatusCode: 429}, hit},
		{"field of a value", valueError{429}, hit},
		{"field of a pointer to a value type", &valueError{429}, hit},
		{"other field", &communityError{HTTPStatusCode: 429}, hit},
		{"response only", answered(429), hit},
		{"the outermost status", fmt.Errorf("%w: %w", statusError(400), statusError(429)), judged(adaptive.OK, 400)},

		{"seconds", answered(429, "Retry-After", "7"), with(hit, 0, 7*time.Second)},
		{"milliseconds first", answered(429, "Retry-After", "7", "Retry-After-Ms", "250"), with(hit, 0, 250*time.Millisecond)},
		{"a date that has passed", answered(429, "Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"), hit},
		{"nonsense", answered(429, "Retry-After", "soon"), hit},
		{"the status is outside, the response inside", fmt.Errorf("%w: %w", statusError(429), answered(429, "Retry-After", "7")), with(hit, 0, 7*time.Second)},

		{"kind requests", &sdkError{StatusCode: 429, Type: "requests"}, with(hit, adaptive.KindRequests, 0)},
		{"kind tokens", &sdkError{StatusCode: 429, Type: "Tokens", Code: "rate_limit_exceeded"}, with(hit, adaptive.KindTokens, 0)},
		{"kind concurrency", &sdkError{StatusCode: 429, Code: "concurrency"}, with(hit, adaptive.KindConcurrency, 0)},

		{"quota by code", &sdkError{StatusCode: 429, Code: quota}, judged(adaptive.Terminal, 429)},
		{"quota by type", &sdkError{StatusCode: 429, Type: quota}, judged(adaptive.Terminal, 429)},
		{"quota by text", &sdkError{StatusCode: 429, message: `{"code": "Insufficient_Quota"}`}, judged(adaptive.Terminal, 429)},
		{"quota in an untyped code", &communityError{HTTPStatusCode: 429, Code: quota}, judged(adaptive.Terminal, 429)},
		{"quota in a pointer", &communityError{HTTPStatusCode: 429, Code: 429, Type: &quota}, judged(adaptive.Terminal, 429)},
		{"spend limit", &sdkError{StatusCode: 429, Code: "project_spend_limit_exceeded"}, judged(adaptive.Terminal, 429)},
		{"Anthropic's balance", &sdkError{StatusCode: 400, message: `400 Bad Request {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`}, judged(adaptive.Terminal, 400)},
		{"what is said of a balance", &sdkError{StatusCode: 400, message: `the prompt "my credit balance is too low" is too long`}, judged(adaptive.OK, 400)},
		{"an account that is not active", &sdkError{StatusCode: 429, Code: "billing_not_active"}, judged(adaptive.Terminal, 429)},
		{"an account that is closed", &sdkError{StatusCode: 429, Code: "access_terminated"}, judged(adaptive.Terminal, 429)},
		{"spend limit by text", &sdkError{StatusCode: 429, message: "error_code: enforced_spend_limit_reached"}, judged(adaptive.Terminal, 429)},
		{"the code alone is not enough", &sdkError{StatusCode: 400, Code: quota}, judged(adaptive.OK, 400)},
		{"payment required", statusError(402), judged(adaptive.Terminal, 402)},
		{"can never pass", &sdkError{StatusCode: 429, message: "Request too large for gpt"}, judged(adaptive.OK, 429)},

		{"overloaded", statusError(529), judged(adaptive.Overloaded, 529)},
		{"503 with Retry-After", answered(503, "Retry-After", "2"), with(judged(adaptive.Overloaded, 503), 0, 2*time.Second)},
		{"503 with Retry-After 0", answered(503, "Retry-After", "0"), judged(adaptive.Overloaded, 503)},
		{"503", statusError(503), with(judged(adaptive.Transient, 503), adaptive.KindOverload, 0)},
		{"408", statusError(408), judged(adaptive.Transient, 408)},
		{"500", statusError(500), judged(adaptive.Transient, 500)},
		{"502", statusError(502), judged(adaptive.Transient, 502)},
		{"504", statusError(504), judged(adaptive.Transient, 504)},
		{"any other 5xx", statusError(520), judged(adaptive.Transient, 520)},
		{"400", statusError(400), judged(adaptive.OK, 400)},
		{"401", statusError(401), judged(adaptive.OK, 401)},
		{"404", statusError(404), judged(adaptive.OK, 404)},
		{"a status goes before text", fmt.Errorf("rate limit: %w", statusError(404)), judged(adaptive.OK, 404)},

		{"text: too many requests", errors.New("HTTP 429 Too Many Requests"), text},
		{"text: rate limit", errors.New("Rate limit reached for model"), text},
		{"text: code", errors.New(`{"type":"rate_limit_error"}`), text},
		{"text: camel case", errors.New("rateLimitExceeded"), text},
		{"text: status", errors.New("unexpected status code 429"), text},
		{"text: a minute's quota", errors.New("Error 429, Message: You exceeded your current quota, Status: RESOURCE_EXHAUSTED"), text},
		{"text: quota", errors.New("code: insufficient_quota"), adaptive.Feedback{Verdict: adaptive.Terminal, Source: "text"}},
		{"text: overloaded", errors.New(`{"type":"overloaded_error"}`), adaptive.Feedback{Verdict: adaptive.Overloaded, Source: "text"}},
		{"text: anything else", errors.New("connection reset, 429 bytes read"), adaptive.Feedback{}},
		{"context", context.DeadlineExceeded, adaptive.Feedback{}},
		{"no status at all", statusError(0), adaptive.Feedback{}},
		{"the status of another protocol", statusError(1008), adaptive.Feedback{}},
		{"a number", &numbered{Code: 429, Message: "no", Header: http.Header{"Retry-After": {"7"}}}, with(hit, 0, 7*time.Second)},
		{"the code of another answer", errors.Join(statusError(429), &sdkError{StatusCode: 400, Code: quota}), hit},
		{"the code of the same answer", errors.Join(statusError(429), &sdkError{StatusCode: 429, Code: quota}), judged(adaptive.Terminal, 429)},
		{"misleading fields", misleading{StatusCode: "429", Response: "429", Code: 429}, adaptive.Feedback{}},

		{"typed nil with fields", (*sdkError)(nil), adaptive.Feedback{}},
		{"typed nil with a method", (*statusError)(nil), adaptive.Feedback{}},
		{"typed nil of our own", (*adaptive.RateLimitHit)(nil), adaptive.Feedback{}},
		{"typed nil, wrapped", fmt.Errorf("a: %w", errors.Join((*sdkError)(nil), statusError(429))), hit},
		{"typed nil of our own, joined", errors.Join((*adaptive.RateLimitHit)(nil), own), ownFeedback},
		{"nil response", responseError{}, adaptive.Feedback{}},
		{"all but the status panics", embedding{}, hit},
		{"the text panics", silent{}, hit},
		{"the status panics", panickingError{}, text},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.want.Err = tc.err
			assert.Equal(t, tc.want, adaptive.DefaultDetector(tc.err))
			assert.Equal(t, tc.want, adaptive.Classify(nil, tc.err))
		})
	}
	assert.Equal(t, adaptive.Feedback{Verdict: adaptive.OK}, adaptive.DefaultDetector(nil))
}

// What is returned is the caller's, not the error's.
func TestAnswerInCopiesTheBody(t *testing.T) {
	e := &bodyError{429, []byte("body")}
	got, _ := adaptive.AnswerIn(e)
	got.Body[0] = 'x'
	assert.Equal(t, "body", string(e.Body))
}

func TestTheDefaultDetectorHearsWhatIsFinal(t *testing.T) {
	for _, status := range []int{429, 529, 503} {
		assert.False(t, adaptive.DefaultDetector(answered(status, "Retry-After", "1")).Final)
		assert.True(t, adaptive.DefaultDetector(answered(status, "Retry-After", "1", "X-Should-Retry", "False")).Final)
	}
	assert.False(t, adaptive.DefaultDetector(answered(500, "X-Should-Retry", "false")).Final)
}

func TestRetryAfterAsADate(t *testing.T) {
	at := time.Now().Add(time.Hour)
	f := adaptive.DefaultDetector(answered(429, "Retry-After", at.UTC().Format(http.TimeFormat)))
	assert.Equal(t, adaptive.Hit, f.Verdict)
	assert.Greater(t, f.RetryAfter, 58*time.Minute)
	assert.LessOrEqual(t, f.RetryAfter, time.Hour)
}

func TestClassifyAsksTheOwnDetectorFirst(t *testing.T) {
	odd := errors.New("odd")
	own := func(err error) adaptive.Feedback {
		switch {
		case errors.Is(err, odd):
			return adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Second}
		case errors.Is(err, io.EOF):
			panic("detector")
		}
		return adaptive.Feedback{RetryAfter: time.Hour} // no verdict: not mine
	}
	for _, tc := range []struct {
		err  error
		want adaptive.Feedback
	}{
		{nil, adaptive.Feedback{Verdict: adaptive.OK}},
		{odd, adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Second, Err: odd}},
		{fmt.Errorf("%w: %w", odd, statusError(500)), adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Second}},
		{statusError(429), adaptive.Feedback{Verdict: adaptive.Hit, Source: "status 429"}},
		{io.EOF, adaptive.Feedback{}},
		{fmt.Errorf("%w: %w", io.EOF, statusError(429)), adaptive.Feedback{Verdict: adaptive.Hit, Source: "status 429"}},
	} {
		tc.want.Err = tc.err
		assert.Equal(t, tc.want, adaptive.Classify(own, tc.err), "%v", tc.err)
	}
}

func TestTheDetectorMayGiveItsOwnError(t *testing.T) {
	cleaned := errors.New("without the key")
	own := func(error) adaptive.Feedback { return adaptive.Feedback{Verdict: adaptive.Terminal, Err: cleaned} }
	assert.Equal(t, cleaned, adaptive.Classify(own, io.EOF).Err)
}

// What a limiter has said its last word on is not judged again, not even by an
// own detector: a call around it would wait for the same refusal once more.
func TestClassifyLeavesFinalErrorsAlone(t *testing.T) {
	greedy := func(error) adaptive.Feedback { return adaptive.Feedback{Verdict: adaptive.Hit} }
	spent := error(&adaptive.RateLimitHit{RetryAfter: time.Hour, GivenUp: true})
	exhausted := fmt.Errorf("%w: %w", adaptive.ErrQuotaExhausted, statusError(429))
	for _, err := range []error{spent, fmt.Errorf("item 7: %w", spent), errors.Join(io.EOF, spent), exhausted, several{spent}} {
		assert.Equal(t, adaptive.Feedback{Err: err}, adaptive.Classify(greedy, err), "%v", err)
	}
	fresh := &adaptive.RateLimitHit{Cause: spent}
	assert.Equal(t, adaptive.Hit, adaptive.Classify(nil, fresh).Verdict, "a new hit of the user's own goes again")
}

// several wraps by a multi-error method, with a nil among its errors.
type several struct{ err error }

func (e several) Error() string   { return "two" }
func (e several) Unwrap() []error { return []error{nil, e.err} }

type rawError struct {
	statusError
	raw string
}

func (e rawError) RawJSON() string { return e.raw }

type bodyError struct {
	StatusCode int
	Body       []byte
}

func (e *bodyError) Error() string { return "body" }

type textBodyError struct {
	responseError
	Body string
}

// rawBodyError has the answer's words twice.
type rawBodyError struct {
	Body []byte
}

func (e *rawBodyError) Error() string   { return "raw" }
func (e *rawBodyError) StatusCode() int { return 429 }
func (e *rawBodyError) RawJSON() string { return "{}" }

// numbered has the fields of Google's errors.
type numbered struct {
	Code            int
	Message, Status string
	Details         any
	Header          http.Header
}

func (e *numbered) Error() string { return "numbered" }

type numberedStatusError struct{ numbered }

func (numberedStatusError) StatusCode() int { return 503 }

type panickingJSON struct{}

func (panickingJSON) MarshalJSON() ([]byte, error) { panic("json") }

// labelled is a user's own error, which says nothing of the answer.
type labelled struct {
	error
	Code, Message, Body string
	Header              http.Header
}

func (e *labelled) Unwrap() error { return e.error }

func words(message string) []byte { return []byte(`{"message":"` + message + `"}`) }

type panickingBodyError struct{ statusError }

func (panickingBodyError) RawJSON() string { panic("raw") }

func TestAnswerIn(t *testing.T) {
	header := http.Header{"Retry-After": {"7"}}
	for _, tc := range []struct {
		name string
		err  error
		want adaptive.Answer
		ok   bool
	}{
		{"nothing", io.EOF, adaptive.Answer{}, false},
		{"no error", nil, adaptive.Answer{}, false},
		{"a status", statusError(429), adaptive.Answer{Status: 429, Body: words("answer 429")}, true},
		{"status and header", answered(429, "Retry-After", "7"), adaptive.Answer{Status: 429, Header: header, Body: words("response")}, true},
		{"a number", &numbered{Code: 429, Message: "no", Header: header}, adaptive.Answer{Status: 429, Header: header, Body: []byte(`{"code":429,"message":"no"}`)}, true},
		{"details", &numbered{Code: 503, Message: "no", Status: "UNAVAILABLE", Details: []any{1}}, adaptive.Answer{Status: 503, Body: []byte(`{"code":503,"status":"UNAVAILABLE","message":"no","details":[1]}`)}, true},
		{"details that are no JSON", &numbered{Code: 503, Message: "no", Details: func() {}}, adaptive.Answer{Status: 503, Body: []byte(`{"code":503,"message":"no"}`)}, true},
		{"details that panic", &numbered{Code: 503, Message: "no", Details: panickingJSON{}}, adaptive.Answer{Status: 503}, true},
		{"a number of another protocol", &numbered{Code: 1008, Message: "no"}, adaptive.Answer{}, false},
		{"a success", &numbered{Code: 250, Message: "no"}, adaptive.Answer{}, false},
		{"mail", &textproto.Error{Code: 450, Msg: "mailbox busy"}, adaptive.Answer{}, false},
		{"the field goes before the response", &sdkError{StatusCode: 429, Response: &http.Response{StatusCode: http.StatusOK}}, adaptive.Answer{Status: 429, Body: words("sdk: ")}, true},
		{"the method goes before the number", &numberedStatusError{numbered{Code: 400, Message: "no"}}, adaptive.Answer{Status: 503, Body: []byte(`{"code":400,"message":"no"}`)}, true},
		{"raw JSON", rawError{429, "{}"}, adaptive.Answer{Status: 429, Body: []byte("{}")}, true},
		{"raw JSON inside", fmt.Errorf("%w: %w", answered(429, "Retry-After", "7"), rawError{429, "{}"}), adaptive.Answer{Status: 429, Header: header, Body: []byte("{}")}, true},
		{"raw JSON first", &rawBodyError{Body: []byte("x")}, adaptive.Answer{Status: 429, Body: []byte("{}")}, true},
		{"another answer's", errors.Join(statusError(429), &bodyError{400, []byte("x")}, answered(400, "Retry-After", "7")), adaptive.Answer{Status: 429, Body: words("answer 429")}, true},
		{"what wraps the answer", &labelled{Code: "mine", Message: "mine", Body: "mine", Header: header, error: statusError(429)}, adaptive.Answer{Status: 429, Body: words("answer 429")}, true},
		{"a body of bytes", &bodyError{429, []byte("x")}, adaptive.Answer{Status: 429, Body: []byte("x")}, true},
		{"a body of text", textBodyError{answered(429, "Retry-After", "7"), "x"}, adaptive.Answer{Status: 429, Header: header, Body: []byte("x")}, true},
		{"an empty body", fmt.Errorf("%w: %w", rawError{429, ""}, &bodyError{429, []byte("x")}), adaptive.Answer{Status: 429, Body: []byte("x")}, true},
		{"the first body", fmt.Errorf("%w: %w", rawError{429, "a"}, &bodyError{429, []byte("b")}), adaptive.Answer{Status: 429, Body: []byte("a")}, true},
		{"a panic", panickingBodyError{429}, adaptive.Answer{Status: 429, Body: words("answer 429")}, true},
		{"typed nil", (*bodyError)(nil), adaptive.Answer{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := adaptive.AnswerIn(tc.err)
			assert.Equal(t, tc.want, got)
			assert.Equal(t, tc.ok, ok)
		})
	}
}
