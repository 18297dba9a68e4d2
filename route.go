package headrace

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
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
	known map[route]found
}

// found is what the registry has said, and of which generation that was.
type found struct {
	limiter    *adaptive.Limiter
	generation uint64
}

// route is a host and a model, as the request spells it.
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
	r.known = map[route]found{}
	r.adjust = func(c *adaptive.Config) { c.Detector = dialect.Detector(t.dialect) } // all who share it have it
}

func (t *transport) limiter(req *http.Request, model []byte) (*adaptive.Limiter, error) {
	r, host := &t.routes, hostOf(req.URL)
	r.mu.RLock()
	f := r.known[route{host, string(model)}] // which allocates nothing
	r.mu.RUnlock()
	generation := r.registry.Generation()
	if f.limiter != nil && f.generation == generation {
		return f.limiter, nil
	}
	to := route{host, string(model)}
	l, made, err := r.find(route{host, strings.ToLower(to.model)})
	if err != nil {
		return nil, err
	}
	if made.ID != "" {
		t.tellStale(req, l.Name(), &made)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, again := r.known[to]; !again && len(r.known) >= mostRoutes {
		clear(r.known) // the registry knows them still
	}
	r.known[to] = found{l, generation}
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
	if l := r.registry.Lookup(p.Provider, to.host); l != nil {
		return l, presets.Profile{}, nil
	}
	c := p.Config()
	r.adjust(&c)
	l, err := r.registry.GetOrCreate(p.Provider+"/"+to.host+"/"+strings.TrimPrefix(p.Pool, p.Provider+"/"), c)
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
	emit.Send(to, e)
}

// hostOf is the one spelling of a host: in lower case, without the dot of the
// root, and without the port that goes without saying.
func hostOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	if i := strings.LastIndex(host, ".:"); i >= 0 {
		return host[:i] + host[i+1:]
	}
	return strings.TrimSuffix(host, ".")
}
