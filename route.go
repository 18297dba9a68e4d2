package headrace

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/registry"
)

// mostRoutes bounds what is remembered: hosts and models come from callers.
const mostRoutes = 1024

// routes finds the limiter of a request.
type routes struct {
	fixed    *adaptive.Limiter // for all requests; nil: by host and model
	registry *registry.Registry
	table    *presets.Table
	profile  presets.Profile // empty: there is no preset
	adjust   func(*adaptive.Config)

	mu    sync.RWMutex // guards known
	known map[route]*adaptive.Limiter
}

type route struct{ host, model string }

// init fills in what the options have left open.
func (r *routes) init(t *transport) {
	if r.registry == nil {
		r.registry = registry.Default()
	}
	if r.table == nil {
		r.table = presets.Default()
	}
	if t.preset != "" {
		var err error
		r.profile, err = r.table.Lookup(string(t.preset))
		t.problems.AddPart("preset", err)
	}
	r.known = map[route]*adaptive.Limiter{}
	r.adjust = func(c *adaptive.Config) {
		c.Detector, c.MaxWait = dialect.Detector(t.dialect), t.maxWait
	}
}

func (t *transport) limiter(req *http.Request, model string) (*adaptive.Limiter, error) {
	r := &t.routes
	if r.fixed != nil {
		return r.fixed, nil
	}
	to := route{hostOf(req), model}
	r.mu.RLock()
	l := r.known[to]
	r.mu.RUnlock()
	if l != nil {
		return l, nil
	}
	l, made, err := r.find(to)
	if err != nil {
		return nil, err
	}
	if made.ID != "" {
		t.tellStale(req, l.Name(), &made)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= mostRoutes {
		clear(r.known) // the registry knows them still
	}
	r.known[to] = l
	return l, nil
}

// find asks the registry: for what it was configured with, else for the pool,
// whose profile is the one that it returns.
func (r *routes) find(to route) (*adaptive.Limiter, presets.Profile, error) {
	p := r.profile
	if p.Provider == "" {
		return r.registry.For("", to.host), p, nil
	}
	if own, ok := r.table.ForModel(p.Provider, p.Tier, to.model); ok {
		p = own
	}
	service := p.Provider + "/" + to.host
	for _, name := range [...]string{service, p.Provider} {
		if l := r.registry.Get(name); l != nil {
			return l, presets.Profile{}, nil
		}
	}
	c := p.Config()
	r.adjust(&c)
	l, err := r.registry.GetOrCreate(service+"/"+strings.TrimPrefix(p.Pool, p.Provider+"/"), c)
	return l, p, err
}

// tellStale says once in a process that the preset of a limiter is older than a
// year, to who observes.
func (t *transport) tellStale(req *http.Request, limiter string, p *presets.Profile) {
	to := event.Tee(event.From(req.Context()), t.observer)
	now := time.Now()
	if to == nil || !p.WarnStale(slog.New(slog.DiscardHandler), now) {
		return
	}
	e := event.New(now, event.LimiterStalePreset, limiter)
	e.Key = string(p.ID)
	e.Reason = fmt.Sprintf("the preset is of %s: compare it with what the provider says now (%s)", p.Date(), p.Source.URL)
	event.Send(to, e)
}

// hostOf is the one spelling of a request's host, without the port that goes without saying.
func hostOf(req *http.Request) string {
	host := strings.ToLower(req.URL.Host)
	switch req.URL.Scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return strings.TrimSuffix(host, ".")
}
