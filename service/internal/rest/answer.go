package rest

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/service/internal/decide"
)

// seconds is a duration in seconds, rounded up to milliseconds.
func seconds(d time.Duration) float64 {
	return math.Ceil(float64(d)/float64(time.Millisecond)) / 1000
}

// whole is a duration in seconds, rounded up, as headers have it.
func whole(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }

// when is a time, or nil if it is never.
func when(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC().Format(timeFormat))
}

type named struct{ Scope, Identifier, Resource string }

func namedOf(c *decide.Check) named { return named{c.Scope, c.Identifier, c.Resource} }

// resultOut is the answer to a check.
type resultOut struct {
	named

	Allowed             bool
	Remaining, Capacity int64
	RetryAfter          time.Duration // decide.Never: waiting does not help
	ResetAt             time.Time     // zero: it is never full again
	Degraded            decide.Reason
	Rule, Permit        string
	Error               *errorOut
}

type errorOut struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field,omitempty"`
}

func resultOf(r *decide.Result, allowed bool) resultOut {
	o := resultOut{
		Allowed: allowed, Remaining: r.Remaining, Capacity: r.Capacity, RetryAfter: r.RetryAfter, ResetAt: r.ResetAt,
		Degraded: r.Degraded, Rule: r.Rule,
	}
	if !allowed {
		o.Error = exceeded(r)
	}
	return o
}

func exceeded(r *decide.Result) *errorOut {
	text := "the limit " + r.Rule + " of " + strconv.FormatInt(r.Capacity, 10) + " tokens is used up"
	if r.RetryAfter == decide.Never {
		return &errorOut{Code: exceededCode, Message: text + " and is not refilled"}
	}
	return &errorOut{Code: exceededCode, Message: text + ": retry after " + strconv.FormatFloat(seconds(r.RetryAfter), 'f', -1, 64) + " s"}
}

const exceededCode = "RATE_LIMIT_EXCEEDED"

// allOut is the answer to checks that are decided together.
type allOut struct {
	Allowed            bool
	RetryAfter         time.Duration // decide.Never: waiting does not help
	Degraded           decide.Reason
	Permit             string
	Blocking, Tightest *named
	Results            []resultOut
	Error              *errorOut
}

type windowOut struct {
	Name     string   `json:"name"`
	Quota    int64    `json:"quota"`
	Per      *float64 `json:"per_seconds"` // null: it never refills
	Left     int64    `json:"remaining"`
	ResetsIn float64  `json:"resets_in_seconds"`
}

type bucketOut struct {
	Scope          string        `json:"scope"`
	Identifier     string        `json:"identifier"`
	Resource       string        `json:"resource"`
	Rule           string        `json:"rule"`
	Remaining      int64         `json:"tokens_remaining"`
	Capacity       int64         `json:"tokens_capacity"`
	ResetAt        *string       `json:"reset_at"`
	Windows        []windowOut   `json:"windows"`
	Degraded       bool          `json:"degraded"`
	DegradedReason decide.Reason `json:"degraded_reason,omitempty"`
}

type healthOut struct {
	Status         string        `json:"status"`
	StoreReachable bool          `json:"store_reachable"`
	Breaker        string        `json:"breaker"`
	RetryAfter     float64       `json:"retry_after_seconds"`
	ClockSkew      float64       `json:"clock_skew_seconds"`
	Reason         decide.Reason `json:"degraded_reason,omitempty"`
}

// all answers checks that were decided together.
func (*Handler) all(w http.ResponseWriter, x *scratch, a *decide.All) {
	out := allOut{Allowed: a.Allowed, RetryAfter: a.RetryAfter, Degraded: a.Degraded, Permit: a.Permit, Results: make([]resultOut, len(a.Results))}
	for i := range a.Results {
		r := &a.Results[i]
		out.Results[i] = resultOf(r, r.Allowed)
		out.Results[i].named = namedOf(&r.Check)
	}
	at := a.Tightest
	if at >= 0 {
		out.Tightest = new(namedOf(&a.Results[at].Check))
	}
	if b := a.Blocking; b >= 0 && !a.Allowed {
		at = b
		out.Blocking = new(namedOf(&a.Results[b].Check))
		x.fields.add("X-Ratelimit-Blocking-Scope", ascii(out.Blocking.Scope))
		x.fields.add("X-Ratelimit-Blocking-Resource", ascii(out.Blocking.Resource))
	}
	if at >= 0 {
		r := a.Results[at]
		if !a.Allowed {
			r.RetryAfter = a.RetryAfter
			out.Error = exceeded(&r)
		}
		x.fields.result(&r, a.RetryAfter, a.Allowed)
	}
	x.out = out.appendObject(x.out)
	x.send(w, status(a.Allowed))
}

// ascii is a text that a header can hold.
func ascii(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return strconv.QuoteToASCII(s)
		}
	}
	return s
}

func status(allowed bool) int {
	if allowed {
		return http.StatusOK
	}
	return http.StatusTooManyRequests
}

// problem is an answer of RFC 9457.
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Field  string `json:"field,omitempty"`

	retryAfter time.Duration
	reason     decide.Reason
	challenge  bool
}

// problem is what an error means to a caller.
func (h *Handler) problem(r *http.Request, err error) *problem {
	// Its cause may be a FieldError.
	if u, ok := errors.AsType[*decide.UnavailableError](err); ok {
		if c := u.Unreadable; c != nil {
			name := url.PathEscape(c.Scope) + "/" + url.PathEscape(c.Identifier) + "/" + url.PathEscape(c.Resource)
			return &problem{
				Status: http.StatusServiceUnavailable, Code: "STORAGE_UNAVAILABLE", reason: u.Reason, retryAfter: u.RetryAfter,
				Detail: "the store cannot read these limits: DELETE /v1/ratelimit/buckets/" + name + " resets them",
			}
		}
		h.o.Log.DebugContext(r.Context(), "the store is unavailable", "reason", u.Reason, "err", u.Cause)
		return &problem{
			Status: http.StatusServiceUnavailable, Code: "STORAGE_UNAVAILABLE", reason: u.Reason, retryAfter: u.RetryAfter,
			Detail: "the limits cannot be read, so nothing is admitted: retry after " + strconv.FormatInt(whole(u.RetryAfter), 10) + " s",
		}
	}
	if f, ok := errors.AsType[*fault.FieldError](err); ok {
		return &problem{Status: http.StatusBadRequest, Code: "INVALID_REQUEST", Detail: f.Field + ": " + f.Problem, Field: f.Field}
	}
	if p, ok := errors.AsType[*decide.PermitError](err); ok {
		status, code := http.StatusNotFound, "PERMIT_UNKNOWN"
		switch p.Problem {
		case "ended":
			status, code = http.StatusConflict, "PERMIT_ENDED"
		case "expired":
			status, code = http.StatusGone, "PERMIT_EXPIRED"
		}
		return &problem{Status: status, Code: code, Detail: p.Error(), Field: "permit"}
	}
	if errors.Is(err, errTooLong) {
		return &problem{Status: http.StatusRequestEntityTooLarge, Code: "TOO_LARGE", Detail: "the body is longer than " + strconv.Itoa(mostBody) + " bytes", Field: "body"}
	}
	if errors.Is(err, errSlow) { // net/http has cancelled the request, too
		return &problem{Status: http.StatusRequestTimeout, Code: "REQUEST_TIMEOUT", Detail: "the body did not arrive in time", Field: "body"}
	}
	if p, ok := errors.AsType[*fault.PanicError](err); ok {
		return h.panicked(r, p)
	}
	if errors.Is(err, context.Canceled) || r.Context().Err() != nil {
		return &problem{Status: http.StatusServiceUnavailable, Code: "CANCELLED", Detail: "the request was cancelled"}
	}
	h.o.Log.DebugContext(r.Context(), "a request could not be read", "err", err) // clients can send any number of them
	return &problem{Status: http.StatusBadRequest, Code: "INVALID_REQUEST", Detail: "the body could not be read", Field: "body"}
}

// fail answers an error. While the store is unavailable the answer has the form of a
// refusal.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := h.problem(r, err)
	if p.reason == "" {
		fail(w, p)
		return
	}
	var f fields
	f.addInt("Retry-After", max(1, whole(p.retryAfter)))
	f.degraded(p.reason)
	f.set(w.Header())
	write(w, p.Status, &unavailableOut{false, new(seconds(p.retryAfter)), true, p.reason, errorOut{Code: p.Code, Message: p.Detail}})
}

type unavailableOut struct {
	Allowed        bool          `json:"allowed"`
	RetryAfter     *float64      `json:"retry_after_seconds"`
	Degraded       bool          `json:"degraded"`
	DegradedReason decide.Reason `json:"degraded_reason"`
	Error          errorOut      `json:"error"`
}

func fail(w http.ResponseWriter, p *problem) {
	if p.challenge {
		w.Header().Set("WWW-Authenticate", `Bearer realm="headrace"`)
	}
	p.Title = http.StatusText(p.Status)
	send(w, p.Status, "application/problem+json", p)
}

const jsonKind = "application/json"

func write(w http.ResponseWriter, status int, v any) { send(w, status, jsonKind, v) }

func send(w http.ResponseWriter, status int, kind string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"status":500,"title":"Internal Server Error","code":"INTERNAL"}`)
	}
	respond(w, status, kind, append(text, '\n'), new(fields))
}

// respond sends an answer with more header fields.
func respond(w http.ResponseWriter, status int, kind string, text []byte, f *fields) {
	f.add("Content-Type", kind)
	f.addInt("Content-Length", int64(len(text)))
	f.set(w.Header())
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client has gone
}
