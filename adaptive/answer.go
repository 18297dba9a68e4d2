package adaptive

import (
	"bytes"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/retry"
)

// statusOverloaded is what some providers answer when the whole service is
// full. It is not registered with IANA.
const statusOverloaded = 529

// Answer is a provider's answer as far as an error carries it.
type Answer struct {
	Status int         // of HTTP
	Header http.Header // nil: the error has none
	Body   []byte      // as the SDK kept it, whole or its error object alone; nil: it kept none
}

// AnswerIn finds the provider's answer in the tree of err, from the outside in:
// the status by a method StatusCode or HTTPStatusCode, by a field of either
// name or by a field Response; the header in that field; the body by a method
// RawJSON, as the OpenAI and Anthropic SDKs have it, or by a field Body. ok is
// false if no error has a status. Foreign errors whose methods panic are
// survived.
func AnswerIn(err error) (found Answer, ok bool) {
	var a answer
	walk(err, a.read)
	return Answer{Status: a.status, Header: a.header, Body: a.body}, a.status != 0
}

// answer is what the errors of one tree tell about the provider's answer.
type answer struct {
	status int
	header http.Header
	body   []byte
	codes  []string // error codes and types, lower case
	text   string   // of the error that had the status, lower case
}

func (a *answer) read(err error) {
	a.readMethods(err)
	a.readFields(err)
	a.readBody(err)
}

// readBody keeps the first body that is not empty.
func (a *answer) readBody(err error) {
	defer survive()
	if a.body != nil {
		return
	}
	if e, ok := err.(interface{ RawJSON() string }); ok {
		a.keep([]byte(e.RawJSON()))
		return
	}
	v := reflect.Indirect(reflect.ValueOf(err))
	if v.Kind() != reflect.Struct {
		return
	}
	switch f := v.FieldByName("Body"); {
	case !f.IsValid():
	case f.Kind() == reflect.String:
		a.keep([]byte(f.String()))
	case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Uint8:
		a.keep(bytes.Clone(f.Bytes()))
	}
}

func (a *answer) keep(body []byte) {
	if len(body) > 0 {
		a.body = body
	}
}

func (a *answer) readMethods(err error) {
	defer survive()
	switch e := err.(type) { //nolint:errorlint // walk visits each error by itself
	case interface{ StatusCode() int }:
		a.note(err, e.StatusCode())
	case interface{ HTTPStatusCode() int }:
		a.note(err, e.HTTPStatusCode())
	}
}

func (a *answer) readFields(err error) {
	defer survive()
	v := reflect.Indirect(reflect.ValueOf(err))
	if v.Kind() != reflect.Struct {
		return
	}
	for _, name := range []string{"Code", "Type"} {
		if f := v.FieldByName(name); f.IsValid() {
			a.noteCode(f)
		}
	}
	for _, name := range []string{"StatusCode", "HTTPStatusCode"} {
		if f := v.FieldByName(name); f.IsValid() && f.CanInt() {
			a.note(err, int(f.Int()))
		}
	}
	if f := v.FieldByName("Response"); f.IsValid() && f.CanInterface() {
		if r, ok := reflect.TypeAssert[*http.Response](f); ok && r != nil { //nolint:bodyclose // its body is not ours
			a.note(err, r.StatusCode)
			if a.header == nil {
				a.header = r.Header
			}
		}
	}
}

// note keeps the first status that is one of HTTP: other protocols number their answers too.
func (a *answer) note(err error, status int) {
	if a.status == 0 && status >= 100 && status <= 599 {
		a.status, a.text = status, textOf(err)
	}
}

func (a *answer) noteCode(f reflect.Value) {
	if f.Kind() == reflect.Interface || f.Kind() == reflect.Pointer {
		f = f.Elem()
	}
	if f.Kind() == reflect.String {
		a.codes = append(a.codes, strings.ToLower(f.String()))
	}
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
	case http.StatusPaymentRequired:
		f.Verdict = Terminal
	case statusOverloaded:
		f.Verdict = Overloaded
	case http.StatusServiceUnavailable:
		f.Verdict = Transient
		if told {
			f.Verdict = Overloaded
		}
	case http.StatusRequestTimeout:
		f.Verdict = Transient
	default:
		f.Verdict = OK
		if a.status >= http.StatusInternalServerError {
			f.Verdict = Transient
		}
	}
	return f
}

// exhausted reports whether the answer names a quota or a balance that is used
// up. Codes: OpenAI's and Anthropic's error references, read in 2026.
func (a *answer) exhausted() bool {
	for _, c := range a.codes {
		switch c {
		case "insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded",
			"project_spend_limit_exceeded", "organization_usage_limit_exceeded", "billing_hard_limit_reached",
			"enforced_spend_limit_reached":
			return true
		}
	}
	return strings.Contains(a.text, "insufficient_quota") || strings.Contains(a.text, "enforced_spend_limit_reached")
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
