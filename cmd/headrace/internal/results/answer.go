// Package results writes what requests have come to: answers into one file, failures into
// another, as lines of JSON in the form of OpenAI's Batch output or of the results of Anthropic's Message Batches.
package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/headrace/headrace/node"
)

// Answer is what a provider has answered. The journal keeps it as JSON.
type Answer struct {
	Status    int    `json:"status"`
	RequestID string `json:"request_id,omitempty"`
	Body      string `json:"body"` // JSON in one line. It is kept as a text, so that its bytes stay as they came
	Of        string `json:"of"`   // the hash of the request
}

// Compact is body as JSON in one line, and whether it is an answer: an object or a list. What is not JSON becomes a
// string, and what is not UTF-8 is replaced, as it would not come back from a journal.
func Compact(body []byte) (text string, ok bool) {
	if !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	var line bytes.Buffer
	line.Grow(len(body))
	if err := json.Compact(&line, bytes.TrimPrefix(body, []byte("\uFEFF"))); err != nil || line.Len() == 0 {
		return encode(string(body)), false
	}
	text = line.String()
	return text, text[0] == '{' || text[0] == '['
}

// Codes of failures that are not an HTTP status. Of one that is it is the status, such as status_400.
const (
	NotJSON  = "not_json" // the status is 2xx, and the body cannot be the answer
	BadLine  = "bad_line"
	TooLarge = "too_large" // for a cap of the user
	Network  = "network"
	Internal = "internal"
)

// RequestError is why a request has no result. It has the shape of the errors of
// SDKs, so that the limiter's detectors find the answer in it.
type RequestError struct {
	Code       string      `json:"code"`
	Message    string      `json:"message"`
	Line       int64       `json:"line,omitempty"` // of a bad one
	StatusCode int         `json:"status,omitempty"`
	RequestID  string      `json:"request_id,omitempty"`
	Location   string      `json:"location,omitempty"` // of a redirect
	Text       string      `json:"body,omitempty"`     // JSON in one line
	Of         string      `json:"of,omitempty"`       // the hash of the request
	Header     http.Header `json:"-"`
	Body       []byte      `json:"-"`
}

// Error leaves the body out: a log is no place for it.
func (f *RequestError) Error() string {
	if f.Line > 0 {
		return fmt.Sprintf("line %d: %s", f.Line, f.Message)
	}
	return f.Message
}

// answered reports whether the failure is an answer over HTTP, whose body can stand in a result.
func (f *RequestError) answered() bool { return f.StatusCode > 0 && f.Code != NotJSON }

// ErrUnsent matches what is wrong with a request that is never sent: another attempt would end the same.
var ErrUnsent = errors.New("it cannot be sent")

// Is matches ErrUnsent.
func (f *RequestError) Is(target error) bool {
	return target == ErrUnsent && (f.Code == BadLine || f.Code == TooLarge)
}

// RecordedError is a RequestError whose text is all of it: of an error a journal keeps the text.
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
	return &RequestError{Code: Internal, Message: fmt.Sprint(err)}
}

// encode is v as JSON in one line, without the escapes that are for HTML.
func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return `"` + err.Error() + `"` // no type of this package does that
	}
	return strings.TrimSuffix(b.String(), "\n")
}
