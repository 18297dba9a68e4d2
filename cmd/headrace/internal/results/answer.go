// Package results writes the outcomes of requests: answers to one file and failures to
// another, as lines of JSON in the format of OpenAI's Batch output or of the results of Anthropic's Message Batches.
package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/headrace/headrace/internal/jsonwalk"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

// Answer is the response of a provider. The journal stores it as JSON.
type Answer struct {
	Status    int    `json:"status"`
	RequestID string `json:"request_id,omitempty"`
	Body      string `json:"body"` // JSON in one line, stored as text so that its bytes do not change
	Of        string `json:"of"`   // the hash of the request
}

// Compact returns body as JSON in one line, and whether it is an answer, that is an object or a list. A body that is not JSON becomes a
// string, and bytes that are not UTF-8 are replaced, because a journal would not preserve them.
func Compact(body []byte) (text string, ok bool) {
	if !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	line := jsonwalk.Compact(bytes.TrimPrefix(body, []byte("\uFEFF")))
	if len(line) == 0 {
		return encode(string(body)), false
	}
	return string(line), line[0] == '{' || line[0] == '['
}

// Codes of failures that are not an HTTP status. The code of an HTTP status is of the form status_400.
const (
	NotJSON  = "not_json"           // the status is 2xx, but the body cannot be an answer
	TooLong  = "response_too_large" // the response is longer than what is read
	BadLine  = "bad_line"
	TooLarge = "too_large" // for a cap set by the user
	Network  = "network"
	Internal = "internal"
)

// RequestError is the reason why a request has no result. It has the same fields as the errors of
// SDKs, so that the limiter's detectors find the response in it.
type RequestError struct {
	Code       string      `json:"code"`
	Message    string      `json:"message"`
	Line       int64       `json:"line,omitempty"` // of an invalid request
	StatusCode int         `json:"status,omitempty"`
	RequestID  string      `json:"request_id,omitempty"`
	Location   string      `json:"location,omitempty"` // of a redirect
	Text       string      `json:"body,omitempty"`     // JSON in one line
	Of         string      `json:"of,omitempty"`       // the hash of the request
	Header     http.Header `json:"-"`
	Body       []byte      `json:"-"`

	RetryAfter time.Duration `json:"-"` // as the provider asked for it: a *adaptive.RateLimitHit has at most a day
}

// Error leaves out the body, because it does not belong in a log.
func (f *RequestError) Error() string {
	if f.Line > 0 {
		return fmt.Sprintf("line %d: %s", f.Line, f.Message)
	}
	return f.Message
}

// answered reports whether the failure is an HTTP response with a body that can be part of a result.
func (f *RequestError) answered() bool { return f.StatusCode > 0 && f.Code != NotJSON }

// ErrUnsent matches failures of requests that are never sent, so that a retry would not help.
var ErrUnsent = errors.New("it cannot be sent")

// Is matches ErrUnsent.
func (f *RequestError) Is(target error) bool {
	return target == ErrUnsent && (f.Code == BadLine || f.Code == TooLarge)
}

// RecordedError is a RequestError with a text that contains all its fields, because a journal stores only the text of an error.
type RecordedError struct{ *RequestError }

// Error returns JSON.
func (r *RecordedError) Error() string { return encode(r.RequestError) }

// Unwrap returns the failure.
func (r *RecordedError) Unwrap() error { return r.RequestError }

// FailureOf finds the failure in the error of an item, of this run or of an earlier one.
func FailureOf(err error) *RequestError {
	if f := (*RequestError)(nil); errors.As(err, &f) {
		return f
	}
	if known := (*node.RecordedError)(nil); errors.As(err, &known) {
		var f RequestError
		if json.Unmarshal([]byte(known.Text), &f) == nil {
			return &f
		}
		return &RequestError{Code: Internal, Message: known.Text}
	}
	if cost := (*throttle.CostError)(nil); errors.As(err, &cost) && cost.Window != (throttle.Window{}) {
		return &RequestError{Code: TooLarge, Message: Exceeds(cost.Amount, cost.Unit, "now in force, "+cost.Window.String()+",", cost.Max)}
	}
	return &RequestError{Code: Internal, Message: fmt.Sprint(err)}
}

// Exceeds describes a request that never fits a limit: its estimated cost, and what the limit admits at most.
func Exceeds(cost int64, unit throttle.Unit, limit string, most int64) string {
	return fmt.Sprintf("it may take %d %s (estimated), and the limit %s admits no more than %d at once", cost, unit, limit, most)
}

// encode returns v as JSON in one line, without HTML escapes.
func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return `"` + err.Error() + `"` // the types of this package can always be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}
