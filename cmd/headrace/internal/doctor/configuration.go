package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/config"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

// Configuration is a configuration in the form that a program resolves it to.
type Configuration struct {
	Source string  `json:"source"` // the file; empty for the command line
	Guards []Guard `json:"guards"`
}

// Guard is a guard of a registry.
type Guard struct {
	Name       string   `json:"name"`
	Template   bool     `json:"template,omitempty"` // each matching name gets its own guard
	Applies    string   `json:"applies,omitempty"`  // what it applies to, in a configuration of headrace serve
	Limits     string   `json:"limits,omitempty"`   // hard limits, including those of a preset
	Preset     string   `json:"preset,omitempty"`
	PresetDate string   `json:"preset_date,omitempty"`
	Share      float64  `json:"share,omitempty"`
	Law        string   `json:"law"` // measured, aimd, fixed, or "of NAME"
	Within     []string `json:"within,omitempty"`
	Store      string   `json:"store"` // memory means that each process has its own limits
}

// demand is a guard of the configuration in a store.
type demand struct {
	key    string
	limits throttle.Limits
}

// place is an address where limits are shared.
type place struct {
	address string
	demands []demand
}

// places returns all of them, each once.
type places struct{ list []*place }

func (p *places) add(address string, d *demand) {
	i := slices.IndexFunc(p.list, func(at *place) bool { return at.address == address })
	if i < 0 {
		i = len(p.list)
		p.list = append(p.list, &place{address: address})
	}
	if d != nil {
		p.list[i].demands = append(p.list[i].demands, *d)
	}
}

// configuration reads and resolves Options.Config, and returns the places where its guards share limits.
func (x *examination) configuration() (*places, error) {
	at := &places{}
	if x.Config == "" {
		return at, nil
	}
	info, err := os.Stat(x.Config)
	switch {
	case err == nil && !info.IsDir() && !info.Mode().IsRegular(): // the file is read twice, and a pipe may never end
		return nil, &settings.Error{Flag: "CONFIG", Problem: x.Config + " is a pipe or a device: write the configuration to a file"}
	case err == nil:
		data, err := os.ReadFile(x.Config)
		if err != nil {
			return nil, unreadable(x.Config, err)
		}
		x.file(data, at)
	case strings.Contains(x.Config, ":"):
		c, err := registry.Parse(x.Config)
		x.registry("", c, err, at)
	default:
		return nil, unreadable(x.Config, err)
	}
	return at, nil
}

func unreadable(path string, err error) error {
	if where := (*fs.PathError)(nil); errors.As(err, &where) {
		err = where.Err
	}
	return &settings.Error{Flag: "CONFIG", Problem: fmt.Sprintf("%s cannot be read: %v; name a file, or write limits such as \"openai: 500/min\"", path, err)}
}

// file reads the configuration of a registry.
func (x *examination) file(data []byte, at *places) {
	var keys map[string]any
	if yaml.Unmarshal(data, &keys) == nil && has(keys, serviceKeys()) {
		x.serves(at)
		return
	}
	c, err := config.Load(x.Config)
	x.registry(x.Config, c, err, at)
}

// Configures reports whether a document is a configuration of limits. It checks the top-level keys.
func Configures(document map[string]any) bool {
	return has(document, append(serviceKeys(), "guards", "default", "store"))
}

// serviceKeys are keys that occur only in a configuration of headrace serve.
func serviceKeys() []string { return []string{"rate_limits", "costs", "envoy", "runtime"} }

func has(keys map[string]any, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, is := keys[name]; return is })
}

// registry resolves c as registry.New does, without opening stores or groups.
func (x *examination) registry(source string, c registry.Config, err error, at *places) {
	where := source
	if where == "" {
		where = "CONFIG"
	}
	if err != nil {
		x.invalid(where, err)
		return
	}
	shared := &passive{groups: map[string]string{}}
	c.Open = shared.openers(&c)
	reg, err := registry.New(c)
	if err == nil {
		err = reg.Prewarm()
	}
	if err != nil {
		x.invalid(where, err)
		return
	}
	defer func() { _ = reg.Close() }() // nothing was opened
	x.Configuration = &Configuration{Source: source, Guards: []Guard{}}
	for _, name := range slices.Sorted(maps.Keys(c.Guards)) {
		x.guard(name, c.Guards[name], &c, reg, shared, at)
	}
	if !reflect.DeepEqual(c.Default, registry.Spec{}) {
		x.guard("default", c.Default, &c, reg, shared, at)
	}
	x.pools(&c)
	if len(at.list) == 0 && slices.ContainsFunc(x.Configuration.Guards, func(g Guard) bool { return g.Limits != "" || g.Preset != "" }) {
		x.add(Note, LocalOnly, where, "for several processes, share the limits with store: sqlite:PATH, redis://HOST:PORT/DB or group:PATH, or divide the limits between them",
			"each process has its own limits: n processes use n times as much")
	}
}

// invalid reports each of the problems in err.
func (x *examination) invalid(where string, err error) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			x.invalid(where, one)
		}
		return
	}
	of, field := (*registry.ParseError)(nil), (*fault.FieldError)(nil)
	text := err.Error()
	switch {
	case errors.As(err, &of):
		where, text = fmt.Sprintf("%s:%d:%d", where, of.Line, of.Column), strings.TrimPrefix(of.Path+": "+of.Problem, ": ")
	case errors.As(err, &field) && strings.HasPrefix(field.Owner, where+":"):
		where, text = field.Owner, field.Field+": "+field.Problem
	}
	x.add(Problem, ConfigInvalid, where, "", "%s", strings.TrimPrefix(strings.TrimPrefix(text, "registry: "), "config: "))
}

// sample is the last part of an example name for a template.
const sample = "headrace-doctor-sample"

// guard describes the guard of a spec.
func (x *examination) guard(name string, s registry.Spec, c *registry.Config, reg *registry.Registry, shared *passive, at *places) {
	row := Guard{Name: strings.ToLower(strings.TrimSpace(name)), Store: "memory", Share: s.Share, Law: string(s.Law)}
	var g *guard.Guard
	prefix, template := strings.CutSuffix(row.Name, "/*")
	switch {
	case template:
		g = reg.For(prefix + "/" + sample)
	case name == "default":
		g, template = reg.For(sample), true
	default:
		g = reg.Get(name)
		row.Name = g.Name()
	}
	row.Template = template
	p, stats := g.Policy(), g.Stats()
	if l := stats.Limits; l.Concurrency > 0 || len(l.Windows) > 0 {
		row.Limits = l.String()
	}
	if row.Law == "" {
		row.Law = string(registry.Measured)
		if of := g.Learner(); of != nil && of != g {
			row.Law = "of " + of.Name()
		}
	}
	for _, w := range p.Within {
		row.Within = append(row.Within, w.Name())
	}
	if p.Preset != "" {
		row.Preset = string(p.Preset)
		if profile, err := lookup(c.Presets, string(p.Preset)); err == nil {
			row.PresetDate = profile.Date()
			x.stale(&profile, "guards."+row.Name)
		}
	}
	if address := shared.of(g, p.Store); address != "" {
		row.Store = settings.WithoutPassword(address)
		d := &demand{key: row.Name, limits: stats.Limits}
		if template {
			d = nil
		}
		at.add(address, d)
	}
	x.Configuration.Guards = append(x.Configuration.Guards, row)
}

func lookup(t *presets.Table, id string) (presets.Profile, error) {
	if t == nil {
		t = presets.Default()
	}
	return t.Lookup(id)
}

// stale reports a preset that is older than a year.
func (x *examination) stale(row *presets.Profile, where string) {
	if row.Stale(x.Time) {
		x.add(Warning, PresetStale, where, "compare it with the provider's current limits ("+row.Source.URL+"), and write limits of your own if it differs",
			"the preset %s dates from %s, more than a year ago", row.ID, row.Date())
	}
}

// pools finds guards that use the same quota of a provider independently of each other.
func (x *examination) pools(c *registry.Config) {
	first := map[string]*Guard{}
	for i := range x.Configuration.Guards {
		g := &x.Configuration.Guards[i]
		profile, err := lookup(c.Presets, g.Preset)
		if g.Preset == "" || g.Template || err != nil {
			continue
		}
		pool := profile.Pool
		other := first[pool]
		switch {
		case other == nil:
			first[pool] = g
		case slices.Contains(g.Within, other.Name), slices.Contains(other.Within, g.Name), g.Share > 0 && other.Share > 0:
		default:
			x.add(Warning, PoolShared, "guards."+g.Name, "if both use the same account, give them the same name or divide the limits; otherwise nothing has to be done",
				"%s and %s start from presets of the same quota (%s): with one account they use it twice", other.Name, g.Name, pool)
		}
	}
}

// passive represents the stores and groups of a configuration without opening them.
type passive struct {
	groups map[string]string // the address, by the name of a guard
}

// unopened represents a store without opening it.
type unopened struct {
	quota.Store

	address string
}

// openers returns an opener for each scheme in c.
func (p *passive) openers(c *registry.Config) map[string]registry.Opener {
	open := func(scheme string) registry.Opener {
		return registry.OpenStore(func(rest string, _ ...struct{}) (*unopened, error) {
			if scheme != "redis" { // a given URL is kept
				rest = scheme + ":" + rest
			}
			return &unopened{quota.NewMemoryStore(nil), rest}, nil
		})
	}
	all := map[string]registry.Opener{"redis": open("redis")}
	addresses := []string{c.Store, c.Default.Store}
	for name := range c.Guards {
		addresses = append(addresses, c.Guards[name].Store)
	}
	for _, address := range addresses {
		scheme, _, _ := strings.Cut(strings.TrimSpace(address), ":")
		all[scheme] = open(scheme)
	}
	all["group"] = registry.JoinGroup(func(_ context.Context, address string) (seat, error) {
		return seat{p, "group:" + strings.TrimPrefix(address, "unix:")}, nil
	})
	return all
}

// of returns the place where g is shared, or an empty text if it is not.
func (p *passive) of(g *guard.Guard, s quota.Store) string {
	if u, ok := s.(*unopened); ok {
		return u.address
	}
	return p.groups[g.Name()]
}

// seat represents a member of a group.
type seat struct {
	of      *passive
	address string
}

// Guard implements what registry.JoinGroup needs.
func (s seat) Guard(p guard.Policy) (*guard.Guard, error) {
	s.of.groups[p.Name] = s.address
	return guard.New(p)
}

// Close implements what registry.JoinGroup needs.
func (seat) Close() {}

// leaseTime is passed to Peek, which does not take a lease.
const leaseTime = 30 * time.Second
