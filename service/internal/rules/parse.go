package rules

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/document"
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
		if len(p.List) > document.EnoughProblems {
			break
		}
		s.add(i, &f.RateLimits[i], taken, p)
	}
	s.fallback = f.fallback(p)
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

// add adds the limit with that index. taken are the names of those before.
func (s *Set) add(i int, l *Limit, taken map[string]bool, p *document.Problems) {
	keys := []string{"rate_limits", document.Element(i)}
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

// fallback is the rule of scopes and resources without a limit.
func (f *File) fallback(p *document.Problems) *Rule {
	d := Limit{Name: "default", Capacity: new(int64(DefaultCapacity)), RefillRate: new(float64(DefaultRefill))}
	if f.Default != nil {
		d = *f.Default
		for name, text := range map[string]string{"name": d.Name, "scope": d.Scope, "resource": d.Resource} {
			if text != "" {
				p.Addf([]string{"default", name}, "the default is for every scope and resource: leave it out")
			}
		}
	}
	r := d.rule([]string{"default"}, p)
	r.Name = "default"
	return r
}
