package adaptive

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/quota"
	"github.com/headrace/headrace/retry"
)

// statusOverloaded is what some providers answer when the whole service is
// full. It is not registered with IANA.
const statusOverloaded = 529

// Answer is the part of a provider's response that an error carries.
type Answer struct {
	Status int         // of HTTP
	Header http.Header // nil: the error has none
	Body   []byte      // whole, or its error object
}

// AnswerIn finds the provider's response in err and what it wraps, outermost
// first. It knows the errors of the SDKs of OpenAI, Anthropic, Google, AWS,
// Azure, Cohere and most others:
//
//   - status: a method or field StatusCode or HTTPStatusCode, a field Response
//     or RawResponse, or a Code of 400 to 599 beside a Message;
//   - header: that of the response, or a field Header;
//   - body: a method RawJSON, a field Body, or an object made of the fields or
//     methods for code, type, status, message and details.
//
// A wrapped error with another status is ignored. ok is false without a status.
// Panics in methods of err are recovered.
func AnswerIn(err error) (found Answer, ok bool) {
	var a answer
	walk(err, a.read)
	return Answer{Status: a.status, Header: a.header, Body: a.bodyOrWords()}, a.status != 0
}

// answer is what the errors of one tree tell about the provider's answer.
type answer struct {
	status int
	header http.Header
	body   []byte
	words  words
	codes  []string // error codes and types, lower case
	text   string   // of the error that had the status, lower case
}

// words is what stands in for a body.
type words struct {
	Code    any `json:"code,omitempty"`
	Type    any `json:"type,omitempty"`
	Status  any `json:"status,omitempty"`
	Message any `json:"message,omitempty"`
	Details any `json:"details,omitempty"`
}

func (a *answer) read(err error) {
	status, header := statusIn(err)
	switch {
	case a.status == 0 && status != 0:
		a.status, a.text = status, textOf(err)
	case a.status == 0, status != 0 && status != a.status:
		return
	}
	if a.header == nil {
		a.header = header
	}
	if a.body == nil {
		a.body = bodyIn(err)
	}
	a.readWords(err)
}

// readWords takes over the words of err.
func (a *answer) readWords(err error) {
	defer survive()
	if e, ok := err.(interface{ ErrorCode() string }); ok {
		a.keepCode(&a.words.Code, reflect.ValueOf(e.ErrorCode()))
	}
	if e, ok := err.(interface{ ErrorMessage() string }); ok {
		keep(&a.words.Message, reflect.ValueOf(e.ErrorMessage()))
	}
	v := structOf(err)
	if !v.IsValid() {
		return
	}
	a.keepCode(&a.words.Code, v.FieldByName("Code"))
	a.keepCode(&a.words.Code, v.FieldByName("ErrorCode"))
	a.keepCode(&a.words.Type, v.FieldByName("Type"))
	keep(&a.words.Status, v.FieldByName("Status"))
	keep(&a.words.Message, v.FieldByName("Message"))
	keep(&a.words.Details, v.FieldByName("Details"))
}

// keepCode keeps what names the error.
func (a *answer) keepCode(word *any, f reflect.Value) {
	keep(word, f)
	if f.Kind() == reflect.Interface || f.Kind() == reflect.Pointer {
		f = f.Elem()
	}
	if f.Kind() == reflect.String {
		a.codes = append(a.codes, strings.ToLower(f.String()))
	}
}

// keep takes the first that says anything.
func keep(word *any, f reflect.Value) {
	if *word == nil && f.IsValid() && !f.IsZero() {
		*word = f.Interface()
	}
}

// bodyOrWords returns the body, or what can stand in for it.
func (a *answer) bodyOrWords() (body []byte) {
	defer survive()
	if a.body != nil {
		return a.body
	}
	keep(&a.words.Message, reflect.ValueOf(a.text))
	if a.words == (words{}) {
		return nil
	}
	body, err := json.Marshal(a.words)
	if err != nil { // the rest can be written in JSON
		a.words.Details = nil
		body, _ = json.Marshal(a.words)
	}
	return body
}

func (a *answer) judge() Feedback {
	after, told := retry.RetryAfter(a.header, time.Now())
	f := Feedback{RetryAfter: after, Source: "status " + strconv.Itoa(a.status)}
	switch a.status {
	case http.StatusTooManyRequests:
		switch {
		case a.exhausted():
			f.Verdict = Terminal
		case strings.Contains(a.text, "request too large"):
			f.Verdict = OK // this one can never pass, which says nothing about the others
		default:
			f.Verdict, f.Kind = Hit, a.kind()
		}
	case http.StatusBadRequest:
		if f.Verdict = OK; a.exhausted() {
			f.Verdict = Terminal
		}
	case http.StatusPaymentRequired:
		f.Verdict = Terminal
	case statusOverloaded:
		f.Verdict = Overloaded
	case http.StatusServiceUnavailable:
		f.Verdict, f.Kind = Transient, KindOverload
		if told {
			f.Verdict, f.Kind = Overloaded, UnknownKind
		}
	case http.StatusRequestTimeout:
		f.Verdict = Transient
	default:
		f.Verdict = OK
		if a.status >= http.StatusInternalServerError {
			f.Verdict = Transient
		}
	}
	f.Final = f.Verdict.refused() && strings.EqualFold(a.header.Get("X-Should-Retry"), "false")
	return f
}

// exhausted reports whether the answer names a quota or a balance that is used up.
func (a *answer) exhausted() bool {
	if a.status == http.StatusBadRequest { // Anthropic's; its type is the same for every bad request
		return strings.Contains(a.text, "your credit balance is too low to access the anthropic api")
	}
	for code := range strings.FieldsSeq(quota.Codes) {
		if slices.Contains(a.codes, code) || strings.Contains(a.text, code) {
			return true
		}
	}
	return false
}

func (a *answer) kind() Kind {
	for _, c := range a.codes {
		switch c {
		case "requests":
			return KindRequests
		case "tokens":
			return KindTokens
		case "concurrency":
			return KindConcurrency
		}
	}
	return UnknownKind
}
