package dashboard

import (
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/localhost"
	"github.com/headrace/headrace/throttle"
)

const (
	usualPause = 5 * time.Minute
	mostPause  = 24 * time.Hour
	mostBody   = 4 << 10 // bytes
)

// uplot.js and uplot.css are uPlot 1.6.32 (dist/uPlot.iife.min.js and dist/uPlot.min.css of the npm package), unchanged.
//
//go:embed page
var page embed.FS

// policy has the page load its own files and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP serves the page and its API. Their paths are relative: under a prefix use http.StripPrefix.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if err := localhost.Check(r, d.c.Hosts); err != nil {
		fail(w, http.StatusForbidden, "forbidden", err.Error())
		return
	}
	d.mux.ServeHTTP(w, r)
}

func (d *Dashboard) routes() *http.ServeMux {
	m := http.NewServeMux()
	files, err := page.ReadDir("page")
	if err != nil {
		panic(err) // it is embedded
	}
	for _, f := range files {
		m.Handle("GET /"+f.Name(), static(f.Name()))
	}
	m.Handle("GET /{$}", static("index.html"))
	m.HandleFunc("GET /api/status", d.reading(d.status))
	m.HandleFunc("GET /api/series", d.reading(d.history))
	m.HandleFunc("GET /api/events", d.reading(d.events))
	m.HandleFunc("GET /api/token", d.authorized(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	m.HandleFunc("POST /api/limiters/{name}/pause", d.acted(d.pause))
	m.HandleFunc("POST /api/limiters/{name}/resume", d.acted(d.resume))
	m.HandleFunc("POST /api/limiters/{name}/limit", d.acted(d.limit))
	m.HandleFunc("POST /api/drain", d.authorized(d.drain))
	return m
}

// static serves a file of the page.
func static(name string) http.HandlerFunc {
	text, err := page.ReadFile("page/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	sum := sha256.Sum256(text)
	tag := strconv.Quote(hex.EncodeToString(sum[:8]))
	kind := map[string]string{".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".txt": "text/plain"}[path.Ext(name)] + "; charset=utf-8"
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(text)))
	}
}

// reading lets requests of this machine read, and others with the token.
func (d *Dashboard) reading(next http.HandlerFunc) http.HandlerFunc {
	with := d.authorized(next)
	return func(w http.ResponseWriter, r *http.Request) {
		if localhost.Local(r) {
			next(w, r)
			return
		}
		with(w, r)
	}
}

// authorized lets requests with the token pass.
func (d *Dashboard) authorized(next http.HandlerFunc) http.HandlerFunc {
	want := sha256.Sum256([]byte(d.c.Token))
	return func(w http.ResponseWriter, r *http.Request) {
		if d.c.Token == "" {
			fail(w, http.StatusForbidden, "no_token", "the dashboard was started without a token, so it only shows, and only on its own machine: start it with one (HEADRACE_TOKEN)")
			return
		}
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(token))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) == 0 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="headrace"`)
			fail(w, http.StatusUnauthorized, "unauthorized", `the token is missing or wrong: send the one that the dashboard was started with as "Authorization: Bearer TOKEN"`)
			return
		}
		next(w, r)
	}
}

func (d *Dashboard) status(w http.ResponseWriter, _ *http.Request) {
	d.recent(time.Now())
	d.mu.Lock()
	s := d.statusLocked()
	d.mu.Unlock()
	reply(w, http.StatusOK, s)
}

// history returns the samples of a limiter.
func (d *Dashboard) history(w http.ResponseWriter, r *http.Request) {
	name, span := r.URL.Query().Get("limiter"), r.URL.Query().Get("span")
	if span != "" && span != "10m" && span != "2h" {
		fail(w, http.StatusBadRequest, "bad_request", fmt.Sprintf("span: %q is not known: use 10m or 2h", short(span)))
		return
	}
	c, ok := d.samples(name, span == "2h")
	if !ok {
		fail(w, http.StatusNotFound, "unknown_limiter", unknown(name))
		return
	}
	reply(w, http.StatusOK, c)
}

func (d *Dashboard) samples(name string, coarse bool) (c columns, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.board.limiters[name]
	if t == nil {
		return c, false
	}
	c.At = []float64{}
	if coarse {
		t.series.coarse.each(c.add)
	} else {
		t.series.fine.each(c.add)
	}
	return c, true
}

// asked is the body of an action.
type asked struct {
	For    string `json:"for"`    // of pause
	Limits string `json:"limits"` // of limit
}

// target is the guard of an action.
type target struct {
	*guard.Guard

	name       string // in the registry, if it is registered there
	registered bool
}

// problem is an action that is refused.
type problem struct {
	status     int
	code, text string
}

// acted authorizes and does an action with a limiter, lists it as an event, and returns the limiter's new state.
func (d *Dashboard) acted(do func(t target, a asked) (event.Event, *problem)) http.HandlerFunc {
	return d.authorized(func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		var a asked
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&a); err != nil && !errors.Is(err, io.EOF) {
			fail(w, http.StatusBadRequest, "bad_request", `the body is not as expected: send {"for": "5m"} to pause, {"limits": "20/s"} to limit`)
			return
		}
		g, registered := d.find(name)
		if g == nil {
			fail(w, http.StatusNotFound, "unknown_limiter", unknown(name))
			return
		}
		before := d.incoming.latest()
		e, p := do(target{g, name, registered}, a)
		if p != nil {
			fail(w, p.status, p.code, p.text)
			return
		}
		if e.Time, e.Source = time.Now(), g.Name(); !d.incoming.has(before, &e) { // only guards that d observes report it
			d.Observe(e)
		}
		for _, l := range d.Status().Limiters {
			if l.Name == name {
				reply(w, http.StatusOK, l)
				return
			}
		}
		s, now := g.Stats(), time.Now() // it is not listed
		reply(w, http.StatusOK, limiter(name, now, &s, s.View.Hits, s.View.Cuts))
	})
}

func unknown(name string) string { return fmt.Sprintf("there is no limiter %q", short(name)) }

func bad(format string, args ...any) (event.Event, *problem) {
	return event.Event{}, &problem{http.StatusBadRequest, "bad_request", fmt.Sprintf(format, args...)}
}

func (d *Dashboard) pause(g target, a asked) (event.Event, *problem) {
	wait := usualPause
	if a.For != "" {
		var err error
		if wait, err = time.ParseDuration(a.For); err != nil {
			return bad("for: %q is not a duration: use one such as 90s or 5m", short(a.For))
		}
	}
	if wait <= 0 || wait > mostPause {
		return bad("for: %s is not between 0 and %s", wait, mostPause)
	}
	g.Pause(time.Now().Add(wait))
	return event.Event{Kind: event.LimiterPaused, Wait: wait}, nil
}

func (d *Dashboard) resume(g target, _ asked) (event.Event, *problem) {
	if s := g.Stats(); s.PausedUntil.After(time.Now()) {
		g.Resume()
		return event.Event{Kind: event.LimiterReopened, Reason: "the pause was ended"}, nil
	}
	g.Reopen() // also what the provider has closed
	return event.Event{Kind: event.LimiterReopened}, nil
}

func (d *Dashboard) limit(g target, a asked) (event.Event, *problem) {
	if strings.TrimSpace(a.Limits) == "" {
		return bad(`limits: it is empty: use limits such as "20/s, 8 concurrent", or "unlimited"`)
	}
	limits, err := throttle.ParseLimits(a.Limits)
	if e, ok := errors.AsType[*throttle.ParseError](err); ok {
		return bad("limits: %q: %s", short(e.Text), e.Problem)
	}
	if err != nil {
		return bad("limits: %v", err)
	}
	p := g.Policy()
	p.Limits = limits
	if g.registered {
		_, err = d.registry.Replace(g.name, p)
	} else {
		err = g.Set(p)
	}
	if err != nil {
		return bad("limits: %v", err)
	}
	return event.Event{Kind: event.LimiterChanged, Reason: limits.String()}, nil
}

// drain has the program stop.
func (d *Dashboard) drain(w http.ResponseWriter, _ *http.Request) {
	if d.c.Drain == nil {
		fail(w, http.StatusNotFound, "no_drain", "this program cannot be drained: pause its limiters, or stop it")
		return
	}
	d.mu.Lock()
	if !d.draining {
		d.draining = true
		go func() { _ = survivable(func() error { return d.c.Drain(d.ctx) }) }() // it may end in Close, which does not wait for it
	}
	d.mu.Unlock()
	reply(w, http.StatusAccepted, d.Status())
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a reader that has left needs nothing
}

// Error is the body of a response with a status of 400 and above.
type Error struct {
	Error struct {
		Code    string `json:"code"`    // such as "unauthorized"
		Message string `json:"message"` // for people, with a remedy
	} `json:"error"`
}

func fail(w http.ResponseWriter, status int, code, message string) {
	var e Error
	e.Error.Code, e.Error.Message = code, message
	reply(w, status, e)
}
