package rules

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/document"
	"github.com/headrace/headrace/internal/header"
	"github.com/headrace/headrace/internal/near"
	"github.com/headrace/headrace/internal/yamldoc"
)

// Config is a validated configuration with the secrets that its files hold.
type Config struct {
	Rules   *Set
	Envoy   Envoy               // files are relative to the working directory
	Runtime Runtime             // with its defaults
	Tokens  [][sha256.Size]byte // hashes; none: no token is required
	Key     []byte              // of permits; nil: each process draws its own
}

// Load reads a file, and the files of secrets that it names, which are relative to it.
// Each problem is a *fault.FieldError, joined. A missing file matches fs.ErrNotExist.
func Load(path string) (*Config, []byte, error) {
	data, err := Read(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("service: %w: %s", err, yamldoc.Instead(path))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("service: %w", err)
	}
	c, err := parse(path, filepath.Dir(path), data)
	return c, data, err
}

// Parse reads a configuration from YAML or JSON. Files of secrets are relative to the
// working directory.
func Parse(data []byte) (*Config, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}") // a file that is empty is being written
	}
	return parse("", "", data)
}

func parse(file, dir string, data []byte) (*Config, error) {
	if len(data) > largestFile {
		return nil, at(file, 1, 1, "", fmt.Sprintf("the file has more than %d bytes", largestFile))
	}
	doc, err := yamldoc.Read(data)
	if e, ok := errors.AsType[*yamldoc.Error](err); ok {
		return nil, at(file, e.Line, e.Column, "", e.Problem)
	}
	if err != nil {
		return nil, err
	}
	root, offset, err := document.Read(doc.JSON)
	if err != nil {
		line, _ := document.Place(string(doc.JSON), offset)
		p, _ := doc.Place(line)
		return nil, at(file, p.Line, p.Column, "", err.Error())
	}
	var (
		f File
		p document.Problems
	)
	document.Decode(root, &f, &p)
	typed := len(p.List)
	c := f.compile(dir, &p)
	p.Find(root, typed)
	var errs []error
	for _, x := range p.Placed(string(doc.JSON)) {
		place, _ := doc.Place(x.Line)
		errs = append(errs, at(file, place.Line, place.Column, x.Path, x.Text))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

func at(file string, line, column int, field, problem string) error {
	owner := fmt.Sprintf("line %d:%d", line, column)
	if file != "" {
		owner = fmt.Sprintf("%s:%d:%d", file, line, column)
	}
	if field == "" {
		field = "configuration"
	}
	return &fault.FieldError{Owner: owner, Field: field, Problem: problem}
}

// names of rules are shown in headers and metrics.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}$`)

func (f *File) compile(dir string, p *document.Problems) *Config {
	c := &Config{Rules: f.rules(p), Envoy: f.Envoy, Runtime: f.Runtime}
	c.Envoy.check(dir, p)
	c.Runtime.check(p)
	c.secrets(dir, p)
	return c
}

func (f *File) rules(p *document.Problems) *Set {
	s := &Set{exact: map[pair]*Rule{}, scopes: map[string]*Rule{}, known: map[string]bool{}, costs: f.Costs}
	if len(f.RateLimits) > mostRules {
		p.Addf([]string{"rate_limits"}, "%d entries are more than %d", len(f.RateLimits), mostRules)
		return s
	}
	taken := map[string]bool{"default": true}
	for i := range f.RateLimits {
		l, keys := &f.RateLimits[i], []string{"rate_limits", document.Element(i)}
		if len(p.List) > document.EnoughProblems {
			break
		}
		if l.Resource == "*" {
			l.Resource = ""
		}
		r := l.rule(keys, p)
		checkText(document.Below(keys, "scope"), l.Scope, true, p)
		checkText(document.Below(keys, "resource"), l.Resource, false, p)
		switch at := (pair{l.Scope, l.Resource}); {
		case l.Scope == "":
		case l.Resource == "" && s.scopes[l.Scope] != nil:
			p.Mixf(keys, "the scope %q has a default already: leave one out", document.Clip(l.Scope))
		case l.Resource != "" && s.exact[at] != nil:
			p.Mixf(keys, "%q of the scope %q has a limit already: leave one out", document.Clip(l.Resource), document.Clip(l.Scope))
		case l.Resource == "":
			s.scopes[l.Scope] = r
		default:
			s.exact[at] = r
		}
		if r.Name == "" {
			r.Name = nameOf(i, l)
		}
		if taken[r.Name] {
			p.Addf(document.Below(keys, "name"), "%q is also the name of another limit", document.Clip(r.Name))
		}
		taken[r.Name] = true
		s.known[l.Scope] = true
		s.all = append(s.all, r)
	}
	d := Limit{Name: "default", Capacity: DefaultCapacity, RefillRate: new(float64(DefaultRefill))}
	if f.Default != nil {
		d = *f.Default
		for name, text := range map[string]string{"name": d.Name, "scope": d.Scope, "resource": d.Resource} {
			if text != "" {
				p.Addf([]string{"default", name}, "the default is for every scope and resource: leave it out")
			}
		}
	}
	s.fallback = d.rule([]string{"default"}, p)
	s.fallback.Name = "default"
	s.all = append(s.all, s.fallback)
	if len(f.Costs) > mostCosts {
		p.Addf([]string{"costs"}, "%d entries are more than %d", len(f.Costs), mostCosts)
		return s
	}
	for _, resource := range slices.Sorted(maps.Keys(f.Costs)) {
		checkText([]string{"costs", resource}, resource, true, p)
		if n := f.Costs[resource]; n < 0 || n > mostCost {
			p.Addf([]string{"costs", resource}, "%d is not between 1 and %d", n, mostCost)
		}
	}
	return s
}

const mostEnvoyFiles = 1000

func (e *Envoy) check(dir string, p *document.Problems) {
	keys := []string{"envoy"}
	if len(e.Files) > mostEnvoyFiles {
		p.Addf(document.Below(keys, "files"), "%d entries are more than %d", len(e.Files), mostEnvoyFiles)
	}
	for i, file := range e.Files {
		e.Files[i] = inDir(dir, file)
	}
	for name, text := range map[string]string{"limit": e.Headers.Limit, "remaining": e.Headers.Remaining, "reset": e.Headers.Reset} {
		if text != "" && !header.IsToken(text) {
			p.Addf(document.Below(keys, "headers", name), "%q cannot be the name of a header: write one such as RateLimit-Limit", header.Shown(text))
		}
	}
}

func (r *Runtime) check(p *document.Problems) {
	keys := []string{"runtime"}
	if r.Store == "" {
		r.Store = Memory
	}
	all := []string{string(Closed), string(Open), string(Local)}
	switch r.Outage {
	case "":
		r.Outage = Closed
	case Closed, Open, Local:
	default:
		p.Addf(document.Below(keys, "outage"), "%q is not a policy: %s", document.Clip(string(r.Outage)),
			document.DidYouMean(near.Names(string(r.Outage), all, document.MostNear), "write "+strings.Join(all, ", ")))
	}
	share := document.Below(keys, "local_share")
	switch {
	case r.LocalShare != 0 && r.Outage != Local:
		p.Mixf(share, "it is for outage: local: leave it out")
	case r.LocalShare < 0 || r.LocalShare > 1:
		p.Addf(share, "%g is not between 0 and 1: write 1/n for n replicas", r.LocalShare)
	case r.Outage == Local && r.LocalShare == 0:
		p.Mixf(share, "outage: local needs it: write 1/n for n replicas, such as 0.5 for two")
	}
	for _, d := range []struct {
		keys     []string
		v        *time.Duration
		low, top time.Duration
		normal   time.Duration
	}{
		{document.Below(keys, "timeout"), &r.Timeout, 10 * time.Millisecond, 30 * time.Second, defaultTimeout},
		{document.Below(keys, "breaker", "open"), &r.Breaker.Open, 10 * time.Millisecond, time.Hour, 10 * time.Second},
		{document.Below(keys, "breaker", "max_open"), &r.Breaker.MaxOpen, 10 * time.Millisecond, time.Hour, max(time.Minute, r.Breaker.Open)},
		{document.Below(keys, "redis", "dial_timeout"), &r.Redis.DialTimeout, 10 * time.Millisecond, 30 * time.Second, time.Second},
		{document.Below(keys, "permits", "max_age"), &r.Permits.MaxAge, time.Second, 24 * time.Hour, defaultMaxAge},
	} {
		if *d.v == 0 {
			*d.v = d.normal
		} else if *d.v < d.low || *d.v > d.top {
			p.Addf(d.keys, "%s is not between %s and %s", *d.v, d.low, d.top)
		}
	}
	if r.Breaker.Open > r.Breaker.MaxOpen {
		p.Mixf(document.Below(keys, "breaker", "open"), "%s is longer than max_open, %s", r.Breaker.Open, r.Breaker.MaxOpen)
	}
	for _, n := range []struct {
		keys   []string
		v      *int
		top    int
		normal int
	}{
		{document.Below(keys, "breaker", "failures"), &r.Breaker.Failures, 1000, 5},
		{document.Below(keys, "breaker", "successes"), &r.Breaker.Successes, 1000, 2},
		{document.Below(keys, "redis", "pool_size"), &r.Redis.PoolSize, 10_000, 0},
	} {
		if *n.v < 0 || *n.v > n.top {
			p.Addf(n.keys, "%d is not between 1 and %d", *n.v, n.top)
		} else if *n.v == 0 {
			*n.v = n.normal
		}
	}
}
