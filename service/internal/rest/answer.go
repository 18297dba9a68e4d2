package rest

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/dunglas/httpsfv"

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
	return new(t.UTC().Format("2006-01-02T15:04:05.000Z"))
}

type named struct {
	Scope      string `json:"scope,omitempty"`
	Identifier string `json:"identifier,omitempty"`
	Resource   string `json:"resource,omitempty"`
}

func namedOf(c *decide.Check) named { return named{c.Scope, c.Identifier, c.Resource} }

// resultOut is the answer to a check.
type resultOut struct {
	named

	Allowed        bool          `json:"allowed"`
	Remaining      int64         `json:"tokens_remaining"`
	Capacity       int64         `json:"tokens_capacity"`
	RetryAfter     *float64      `json:"retry_after_seconds"` // null: waiting does not help
	ResetAt        *string       `json:"reset_at"`            // null: it is never full again
	Degraded       bool          `json:"degraded"`
	DegradedReason decide.Reason `json:"degraded_reason,omitempty"`
	Rule           string        `json:"rule,omitempty"`
	Permit         string        `json:"permit,omitempty"`
	Error          *errorOut     `json:"error,omitempty"`
}

type errorOut struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field,omitempty"`
}

func resultOf(r *decide.Result, allowed bool) resultOut {
	o := resultOut{
		Allowed: allowed, Remaining: r.Remaining, Capacity: r.Capacity, RetryAfter: retry(r.RetryAfter), ResetAt: when(r.ResetAt),
		Degraded: r.Degraded != "", DegradedReason: r.Degraded, Rule: r.Rule,
	}
	if !allowed {
		o.Error = exceeded(r)
	}
	return o
}

func retry(d time.Duration) *float64 {
	if d == decide.Never {
		return nil
	}
	return new(seconds(d))
}

func exceeded(r *decide.Result) *errorOut {
	text := "the limit " + r.Rule + " of " + strconv.FormatInt(r.Capacity, 10) + " tokens is used up"
	if r.RetryAfter == decide.Never {
		return &errorOut{Code: exceededCode, Message: text + " and is not refilled"}
	}
	return &errorOut{Code: exceededCode, Message: text + ": retry after " + strconv.FormatFloat(seconds(r.RetryAfter), 'g', -1, 64) + " s"}
}

const exceededCode = "RATE_LIMIT_EXCEEDED"

// allOut is the answer to checks that are decided together.
type allOut struct {
	Allowed        bool          `json:"allowed"`
	RetryAfter     *float64      `json:"retry_after_seconds"`
	Degraded       bool          `json:"degraded"`
	DegradedReason decide.Reason `json:"degraded_reason,omitempty"`
	Permit         string        `json:"permit,omitempty"`
	Blocking       *named        `json:"blocking,omitempty"`
	Tightest       *named        `json:"most_restrictive,omitempty"`
	Results        []resultOut   `json:"results"`
	Error          *errorOut     `json:"error,omitempty"`
}

type batchOut struct {
	Results []resultOut `json:"results"`
}

type windowOut struct {
	Name     string   `json:"name"`
	Quota    int64    `json:"quota"`
	Per      *float64 `json:"per_seconds"` // null: it never refills
	Left     int64    `json:"remaining"`
	ResetsIn float64  `json:"resets_in_seconds"`
}

type bucketOut struct {
	named

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
func (h *Handler) all(w http.ResponseWriter, a *decide.All) {
	out := allOut{
		Allowed: a.Allowed, RetryAfter: retry(a.RetryAfter), Degraded: a.Degraded != "", DegradedReason: a.Degraded, Permit: a.Permit,
		Results: make([]resultOut, len(a.Results)),
	}
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
		blocking := namedOf(&a.Results[b].Check)
		out.Blocking = &blocking
		w.Header().Set("X-RateLimit-Blocking-Scope", plain(blocking.Scope))
		w.Header().Set("X-RateLimit-Blocking-Resource", plain(blocking.Resource))
	}
	if at >= 0 {
		r := a.Results[at]
		if !a.Allowed {
			r.RetryAfter = a.RetryAfter
			out.Error = exceeded(&r)
		}
		headers(w.Header(), &r, a.RetryAfter, a.Allowed)
	}
	write(w, status(a.Allowed), &out)
}

// plain is a text that a header can hold.
func plain(s string) string {
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

// headers are those of a result: the usual ones, and those of
// draft-ietf-httpapi-ratelimit-headers-11.
func headers(h http.Header, r *decide.Result, wait time.Duration, allowed bool) {
	set(h, "X-Ratelimit-Limit", r.Capacity)
	set(h, "X-Ratelimit-Remaining", r.Remaining)
	if !r.ResetAt.IsZero() {
		set(h, "X-Ratelimit-Reset", whole(time.Duration(r.ResetAt.UnixNano())))
	}
	if !allowed && wait != decide.Never {
		set(h, "Retry-After", max(1, whole(wait)))
	}
	degraded(h, r.Degraded)
	policies, left := make(httpsfv.List, 0, len(r.Windows)), make(httpsfv.List, 0, len(r.Windows))
	for _, x := range r.Windows {
		p, l := httpsfv.NewItem(x.Name), httpsfv.NewItem(x.Name)
		p.Params.Add("q", x.Quota)
		l.Params.Add("r", x.Left)
		if x.Per > 0 {
			p.Params.Add("w", max(1, whole(x.Per)))
			l.Params.Add("t", whole(x.ResetsIn))
		}
		policies, left = append(policies, p), append(left, l)
	}
	if text, err := httpsfv.Marshal(policies); err == nil && text != "" {
		h["Ratelimit-Policy"] = []string{text}
	}
	if text, err := httpsfv.Marshal(left); err == nil && text != "" {
		h["Ratelimit"] = []string{text}
	}
}

func set(h http.Header, key string, n int64) { h[key] = []string{strconv.FormatInt(n, 10)} }

func degraded(h http.Header, why decide.Reason) {
	if why != "" {
		h["X-Ratelimit-Degraded"] = []string{"true"}
		h["X-Ratelimit-Degraded-Reason"] = []string{string(why)}
	}
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
	if f, ok := errors.AsType[*fault.FieldError](err); ok {
		return &problem{Status: http.StatusBadRequest, Code: "INVALID_REQUEST", Detail: f.Field + ": " + f.Problem, Field: f.Field}
	}
	if u, ok := errors.AsType[*decide.UnavailableError](err); ok {
		h.o.Log.DebugContext(r.Context(), "the store is unavailable", "reason", u.Reason, "err", u.Cause)
		return &problem{
			Status: http.StatusServiceUnavailable, Code: "STORAGE_UNAVAILABLE", reason: u.Reason, retryAfter: u.RetryAfter,
			Detail: "the limits cannot be read, so nothing is admitted: retry after " + strconv.FormatInt(whole(u.RetryAfter), 10) + " s",
		}
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
	if p, ok := errors.AsType[*fault.PanicError](err); ok {
		return h.panicked(r, p)
	}
	if errors.Is(err, context.Canceled) || r.Context().Err() != nil {
		return &problem{Status: http.StatusServiceUnavailable, Code: "CANCELLED", Detail: "the request was cancelled"}
	}
	h.o.Log.WarnContext(r.Context(), "a request could not be read", "err", err)
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
	set(w.Header(), "Retry-After", max(1, whole(p.retryAfter)))
	degraded(w.Header(), p.reason)
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

func write(w http.ResponseWriter, status int, v any) { send(w, status, "application/json", v) }

func send(w http.ResponseWriter, status int, kind string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"status":500,"title":"Internal Server Error","code":"INTERNAL"}`)
	}
	h := w.Header()
	h["Content-Type"] = []string{kind}
	set(h, "Content-Length", int64(len(text)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client has gone
}
