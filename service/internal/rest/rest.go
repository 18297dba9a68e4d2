// Package rest is the REST API of the service.
package rest

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/headrace/headrace/fault"
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
	panics.Log(r.Context(), h.o.Log, "a request panicked", err)
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
