package headrace

import (
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/account"
	"github.com/headrace/headrace/internal/hook"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/registry"
)

// mostRoutes bounds the routes that are remembered: hosts and models come from
// callers.
const mostRoutes = 1024

// routes finds the guard of a request.
type routes struct {
	registry *registry.Registry
	lender   lender // the registry
	service  string // empty: the provider of the preset
	within   []*guard.Guard
	of       func(*http.Request) *guard.Guard // may be nil
	layer    layer
	table    *presets.Table
	profile  presets.Profile // empty: there is no preset

	mu    sync.RWMutex // guards known
	known map[route]found
}

// lender is what routes use of a registry besides its public methods.
type lender interface {
	Lend(name string, p guard.Policy) (*guard.Guard, error)
}

// route is what the guard of a request depends on, as the request spells it.
type route struct {
	host, model string
	key         account.ID
}

// found is the guard of a route, and the generation of the registry it is of.
type found struct {
	guard      *guard.Guard
	dialect    dialect.Dialect
	generation uint64
}

// init fills in what the options have left open.
func (r *routes) init(p guard.Policy) {
	if r.registry == nil {
		r.registry = registry.Default()
	}
	r.lender = hook.Open[lender](r.registry)
	if r.table = p.Presets; r.table == nil {
		r.table = presets.Default()
	}
	if p.Preset != "" {
		r.profile, _ = r.table.Lookup(string(p.Preset)) // Validate reports the error
	}
	if r.service == "" {
		r.service = r.profile.Provider
	}
	r.known = map[route]found{}
	r.layer.init(p, r.within)
	r.layer.alone = r.of == nil
}

// find returns the guard of a request, and how its provider is read.
func (r *routes) find(req *http.Request, model []byte) (g *guard.Guard, d dialect.Dialect, err error) {
	host, key := account.Host(req.URL), account.Of(req)
	r.mu.RLock()
	f := r.known[route{host, string(model), key}] // which allocates nothing
	r.mu.RUnlock()
	if generation := r.registry.Generation(); f.guard == nil || f.generation != generation {
		if f, err = r.make(route{host, string(model), key}); err != nil {
			return nil, nil, err
		}
		f.generation = generation
		r.remember(route{host, string(model), key}, f)
	}
	if r.of != nil {
		f.guard = guard.Join(f.guard, r.of(req))
	}
	return f.guard, f.dialect, nil
}

func (r *routes) remember(to route, f found) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, again := r.known[to]; !again && len(r.known) >= mostRoutes {
		clear(r.known) // the registry and the layer know the guards still
	}
	r.known[to] = f
}

// make puts together what a request passes: the transport's own guard, and that
// of the registry.
func (r *routes) make(to route) (f found, err error) {
	to.model = strings.ToLower(to.model)
	p := r.profile
	if p.ID != "" && to.model != "" {
		if own, err := r.table.ForModel(p.ID, to.model); err == nil {
			p = own
		}
	}
	below := r.configured(to)
	if below == nil && !r.layer.learns {
		if below, err = r.shared(to, &p); err != nil {
			return f, err
		}
	}
	if f.guard, err = r.layer.over(below, p.ID, r.name(to, &p)); err != nil {
		return f, err
	}
	if f.dialect = r.layer.speaks(f.guard); f.dialect == dialect.Auto {
		f.dialect = dialect.ByHost(to.host) // which not every response shows
	}
	return f, nil
}

// configured returns the guard that is configured or registered for a
// credential, a host or all of the service, or nil.
func (r *routes) configured(to route) *guard.Guard {
	if r.service == "" {
		return nil
	}
	path := []string{r.service, to.host, strings.TrimPrefix(number(to), "#")}
	if r.profile.ID != "" {
		return r.registry.Lookup(path...)
	}
	return r.registry.For(path...)
}

// shared returns the guard that the transports of a process share for a route.
func (r *routes) shared(to route, p *presets.Profile) (*guard.Guard, error) {
	switch {
	case p.ID != "":
		return r.lender.Lend(r.name(to, p), guard.Policy{Preset: p.ID, Presets: r.layer.policy.Presets, Retry: defaultRetry()})
	case len(r.within) > 0:
		return nil, nil
	}
	key := number(to)
	if key == "" {
		return r.registry.For(to.host), nil
	}
	own := r.registry.For(to.host + key)
	if g := r.registry.Get(to.host); g != nil && !alike(g.Policy(), own.Policy()) {
		return g, nil // it was configured for the host
	}
	return own, nil
}

// alike reports whether two policies differ in no more than their name.
func alike(a, b guard.Policy) bool {
	a.Name, b.Name = "", ""
	return reflect.DeepEqual(a, b)
}

// name is that of the guard of a route: service, host, pool of models and
// credential, as far as there are any.
func (r *routes) name(to route, p *presets.Profile) string {
	name := to.host
	if r.service != "" {
		name = r.service + "/" + name
	}
	if p.ID != "" {
		pool := strings.TrimPrefix(p.Pool, p.Provider+"/")
		name += "/" + strings.ReplaceAll(pool, "/", ":") // to the registry, a slash means within
	}
	return name + number(to)
}

// number tells the credentials of a host apart, as "#key2"; empty: there is none.
func number(to route) string { return account.Number(to.host, to.key) }
