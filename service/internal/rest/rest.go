// Package rest is the REST API of the service.
package rest

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/localhost"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/service/internal/decide"
	"github.com/headrace/headrace/service/internal/tracing"
)

// Options are what a Handler is made of.
type Options struct {
	Decider *decide.Decider
	// Tokens returns the hashes of the bearer tokens; none: no token is required.
	Tokens func() [][sha256.Size]byte
	// Local has requests without a token come from this machine, and not from a web page.
	Local bool
	Hosts []string // that a Host may be besides those of this machine
	// Config writes what GET /v1/config answers.
	Config  func(context.Context) any
	Metrics http.Handler
	Group   http.Handler // of GET /v1/group; nil: there is none
	Log     *slog.Logger
	Tracer  *tracing.Tracer // of requests below /v1/ratelimit/; nil makes no spans
	// Draining reports whether the server is being stopped.
	Draining func() bool
}

// Handler is the REST API.
type Handler struct {
	o Options
	d *decide.Decider
}

// New returns the API.
func New(o Options) *Handler { return &Handler{o, o.Decider} }

const (
	root    = "/v1/ratelimit/"
	buckets = root + "buckets/"
	// mostBody bounds a request.
	mostBody = 1 << 20
)

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	end := func() {}
	defer func() { end() }()
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v == http.ErrAbortHandler { //nolint:errorlint,err113,nolintlint // as net/http compares it
			panic(v)
		}
		fail(w, h.panicked(r, panics.Error(v)))
	}()
	w.Header()["Cache-Control"] = []string{"no-store"}
	switch r.URL.Path {
	case "/healthz":
		if allows(w, r, http.MethodGet) {
			write(w, http.StatusOK, map[string]string{"status": "ok"})
		}
		return
	case "/readyz":
		if allows(w, r, http.MethodGet) {
			h.ready(w, r)
		}
		return
	}
	if p := h.refuse(r); p != nil {
		fail(w, p)
		return
	}
	if route := routeOf(r.URL.Path); route != "" {
		w, r, end = h.o.Tracer.HTTP(w, r, route)
	}
	h.route(w, r)
}

// routeOf is the route of a path of the API; empty if it has none.
func routeOf(path string) string {
	if strings.HasPrefix(path, buckets) {
		return buckets + "{scope}/{identifier}/{resource}"
	}
	switch strings.TrimPrefix(path, root) {
	case "check", "check-all", "batch", "acquire", "settle", "cancel":
		return path
	default:
		return ""
	}
}

func (h *Handler) panicked(r *http.Request, err *fault.PanicError) *problem {
	h.o.Log.ErrorContext(r.Context(), "a request panicked", "err", err)
	return &problem{Status: http.StatusInternalServerError, Code: "INTERNAL", Detail: "the service failed: its log says why"}
}

func (h *Handler) route(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == root+"check":
		h.post(w, r, h.check)
	case path == root+"check-all":
		h.post(w, r, h.checkAll)
	case path == root+"batch":
		h.post(w, r, h.batch)
	case path == root+"acquire":
		h.post(w, r, h.acquire)
	case path == root+"settle":
		h.post(w, r, h.settle)
	case path == root+"cancel":
		h.post(w, r, h.cancel)
	case strings.HasPrefix(path, buckets):
		if !allows(w, r, http.MethodGet, http.MethodDelete) {
			return
		}
		if err := h.bucket(w, r); err != nil {
			h.fail(w, r, err)
		}
	case path == "/v1/config":
		if allows(w, r, http.MethodGet) {
			write(w, http.StatusOK, h.o.Config(r.Context()))
		}
	case path == "/v1/group" && h.o.Group != nil:
		h.o.Group.ServeHTTP(w, r)
	case path == "/metrics" && h.o.Metrics != nil:
		if allows(w, r, http.MethodGet) {
			h.o.Metrics.ServeHTTP(w, r)
		}
	default:
		fail(w, &problem{Status: http.StatusNotFound, Code: "NOT_FOUND", Detail: "there is nothing here: the API is in docs/service.md, such as POST " + root + "check"})
	}
}

// post reads the body of a POST, and calls f with it.
func (h *Handler) post(w http.ResponseWriter, r *http.Request, f func(http.ResponseWriter, *http.Request, *scratch) error) {
	if !allows(w, r, http.MethodPost) {
		return
	}
	x := newScratch()
	err := x.receive(w, r)
	if err == nil {
		err = f(w, r, x)
	}
	if err != nil {
		h.fail(w, r, err)
	}
	x.free()
}

// allows reports whether the method is one of those; HEAD is GET. If it is not, it answers.
func allows(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if slices.Contains(methods, method) {
		return true
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	fail(w, &problem{Status: http.StatusMethodNotAllowed, Code: "METHOD_NOT_ALLOWED", Detail: "use " + strings.Join(methods, " or ")})
	return false
}

// refuse says why a request is not let in; nil if it is.
func (h *Handler) refuse(r *http.Request) *problem {
	tokens := h.o.Tokens()
	if len(tokens) == 0 {
		if !h.o.Local {
			return nil
		}
		if err := localhost.Check(r, h.o.Hosts); err != nil {
			return &problem{Status: http.StatusForbidden, Code: "FORBIDDEN", Detail: err.Error()}
		}
		return nil
	}
	if Allowed(tokens, r.Header.Values("Authorization")) {
		return nil
	}
	return &problem{
		Status: http.StatusUnauthorized, Code: "UNAUTHORIZED", challenge: true,
		Detail: "the token is missing or wrong: send the header Authorization: Bearer TOKEN",
	}
}

// Allowed reports whether the values of an Authorization header are one of the tokens.
// The time that it takes does not depend on how much of a token is right.
func Allowed(tokens [][sha256.Size]byte, values []string) bool {
	if len(values) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	found := 0
	for i := range tokens {
		found |= subtle.ConstantTimeCompare(sum[:], tokens[i][:])
	}
	return found == 1 && strings.EqualFold(scheme, "bearer")
}

func (h *Handler) check(w http.ResponseWriter, r *http.Request, x *scratch) error {
	var in checkIn
	if !in.scan(x.body.String()) {
		if err := decode(&x.body, &in); err != nil {
			return err
		}
	}
	c, err := in.check("")
	if err != nil {
		return err
	}
	res, err := h.d.Check(r.Context(), c)
	if err != nil {
		return err
	}
	x.fields.result(&res, res.RetryAfter, res.Allowed)
	out := resultOf(&res, res.Allowed)
	out.Permit = res.Permit
	x.out = out.appendObject(x.out)
	x.send(w, status(res.Allowed))
	return nil
}

func (h *Handler) checkAll(w http.ResponseWriter, r *http.Request, x *scratch) error {
	var in allIn
	if err := decode(&x.body, &in); err != nil {
		return err
	}
	if in.MaxWait != nil {
		return bad("max_wait_seconds", "it is for /acquire: leave it out")
	}
	cs, err := in.list()
	if err != nil {
		return err
	}
	a, err := h.d.CheckAll(r.Context(), cs)
	if err != nil {
		return err
	}
	h.all(w, x, &a)
	return nil
}

func (h *Handler) acquire(w http.ResponseWriter, r *http.Request, x *scratch) error {
	var in allIn
	if err := decode(&x.body, &in); err != nil {
		return err
	}
	cs, err := in.list()
	if err != nil {
		return err
	}
	wait, err := in.wait()
	if err != nil {
		return err
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wait + answerTime)) // a recorder has none
	a, err := h.d.Acquire(r.Context(), cs, wait)
	if err != nil {
		return err
	}
	h.all(w, x, &a)
	return nil
}

// answerTime is how long a client may take to read an answer.
const answerTime = 30 * time.Second

func (h *Handler) batch(w http.ResponseWriter, r *http.Request, x *scratch) error {
	var in struct {
		Checks []checkIn `json:"checks"`
	}
	if err := decode(&x.body, &in); err != nil {
		return err
	}
	cs := make([]decide.Check, len(in.Checks))
	for i := range in.Checks {
		var err error
		if cs[i], err = in.Checks[i].check(index("checks", i) + "."); err != nil {
			return err
		}
	}
	all, err := h.d.Batch(r.Context(), cs)
	if err != nil {
		return err
	}
	out := make([]resultOut, len(all))
	for i := range all {
		o := &out[i]
		if err := all[i].Err; err != nil {
			if r.Context().Err() != nil {
				return err
			}
			p := h.problem(r, err)
			*o = resultOut{named: namedOf(&all[i].Check), Error: &errorOut{p.Code, p.Detail, p.Field}, Degraded: p.reason, RetryAfter: p.retryAfter}
			continue
		}
		*o = resultOf(&all[i].Result, all[i].Allowed)
		o.named, o.Permit = namedOf(&all[i].Check), all[i].Permit
	}
	x.out = append(appendResults(append(x.out, '{'), out), '}')
	x.send(w, http.StatusOK)
	return nil
}

func (h *Handler) settle(w http.ResponseWriter, r *http.Request, x *scratch) error {
	var in struct {
		Permit string   `json:"permit"`
		Used   *amounts `json:"tokens_used"`
	}
	if err := decode(&x.body, &in); err != nil {
		return err
	}
	if in.Permit == "" {
		return bad("permit", "it is missing: give that of a check")
	}
	if in.Used == nil {
		return bad("tokens_used", "it is missing: give the tokens that were used, or a list with one number for each check")
	}
	err := h.d.Settle(r.Context(), in.Permit, *in.Used)
	if f, ok := errors.AsType[*fault.FieldError](err); ok {
		return bad("tokens_used"+strings.TrimPrefix(f.Field, "actual"), "%s", f.Problem)
	}
	if err != nil {
		return err
	}
	write(w, http.StatusOK, map[string]bool{"settled": true})
	return nil
}

func (h *Handler) cancel(w http.ResponseWriter, r *http.Request, x *scratch) error {
	var in struct {
		Permit string `json:"permit"`
	}
	if err := decode(&x.body, &in); err != nil {
		return err
	}
	if in.Permit == "" {
		return bad("permit", "it is missing: give that of a check")
	}
	if err := h.d.Cancel(r.Context(), in.Permit); err != nil {
		return err
	}
	write(w, http.StatusOK, map[string]bool{"cancelled": true})
	return nil
}

// bucket is GET and DELETE of one limit.
func (h *Handler) bucket(w http.ResponseWriter, r *http.Request) error {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), buckets), "/")
	if len(parts) != 3 {
		return bad("path", "it is not %s{scope}/{identifier}/{resource}: escape a slash as %%2F", buckets)
	}
	for i, p := range parts {
		text, err := url.PathUnescape(p)
		if err != nil || text == "" {
			return bad("path", "a part of it is empty, or wrongly escaped")
		}
		parts[i] = text
	}
	if r.Method == http.MethodDelete {
		if err := h.d.Forget(r.Context(), parts[0], parts[1], parts[2]); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	b, err := h.d.Bucket(r.Context(), parts[0], parts[1], parts[2])
	if err != nil {
		return err
	}
	out := bucketOut{
		Scope: b.Scope, Identifier: b.Identifier, Resource: b.Resource, Rule: b.Rule, Remaining: b.Remaining, Capacity: b.Capacity, ResetAt: when(b.ResetAt),
		Degraded: b.Degraded != "", DegradedReason: b.Degraded,
	}
	for _, x := range b.Windows {
		o := windowOut{Name: x.Name, Quota: x.Quota, Left: x.Left, ResetsIn: seconds(x.ResetsIn)}
		if x.Per > 0 {
			o.Per = new(seconds(x.Per))
		}
		out.Windows = append(out.Windows, o)
	}
	write(w, http.StatusOK, &out)
	return nil
}

// ready answers 503 while checks cannot be answered.
func (h *Handler) ready(w http.ResponseWriter, r *http.Request) {
	x := h.d.Health(r.Context())
	out := healthOut{
		Status: x.Status, StoreReachable: x.StoreReachable, Breaker: string(x.Breaker), RetryAfter: seconds(x.RetryAfter),
		ClockSkew: seconds(x.Skewed), Reason: x.Reason,
	}
	code := http.StatusOK
	if h.o.Draining() {
		out.Status = "draining"
	}
	if out.Status == "unhealthy" || out.Status == "draining" {
		code = http.StatusServiceUnavailable
	}
	write(w, code, &out)
}
