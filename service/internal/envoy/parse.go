package envoy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/yamldoc"
)

// File is a YAML file of envoyproxy/ratelimit: the descriptors of one domain.
type File struct {
	Name string // what problems call it
	Data []byte
}

const (
	// MaxFile is the size in bytes of the largest file.
	MaxFile = 4 << 20
	// maxProblems is how many are reported.
	maxProblems = 20
)

// Parse reads the files in the order of their names. It also returns what
// envoyproxy/ratelimit would do otherwise with them, after Differences. Problems are
// joined, each a *fault.FieldError with its file, line and column.
//
// Several files may have the same domain. Settings that envoyproxy/ratelimit does not
// know are problems, as they are there.
func Parse(files []File) (*Config, []Difference, error) {
	p := parser{
		problems: invalid.Problems{Owner: "envoy"},
		config:   &Config{domains: map[string]*rule{}},
		firstOf:  map[string]string{},
	}
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	for _, f := range files {
		p.file = f.Name
		p.read(f.Data)
	}
	if err := p.problems.Err(); err != nil {
		return nil, nil, err
	}
	return p.config, append(Differences(), p.differences...), nil
}

// parser reads files into a configuration.
type parser struct {
	file        string
	problems    invalid.Problems
	found       int
	config      *Config
	firstOf     map[string]string // the file that a domain was in first
	differences []Difference
}

func (p *parser) problem(at yamldoc.Place, path, format string, args ...any) {
	p.found++
	if p.found <= maxProblems {
		p.problems.Addf(p.place(at)+": "+path, format, args...)
	}
}

func (p *parser) differs(kind Kind, at yamldoc.Place, path, format string, args ...any) {
	p.differences = append(p.differences, Difference{
		Kind: kind, File: p.file, Line: at.Line, Column: at.Column, Path: path, Text: fmt.Sprintf(format, args...),
	})
}

func (p *parser) place(at yamldoc.Place) string {
	return fmt.Sprintf("%s:%d:%d", p.file, at.Line, at.Column)
}

// read reads one file.
func (p *parser) read(data []byte) {
	root, err := document(data)
	if err != nil {
		at, problem := place(err)
		p.problem(at, "(file)", "%s", problem)
		return
	}
	d := domain{}
	ok := p.mapping(root, "", map[string]setting{
		"domain":      p.text(&d.name),
		"descriptors": p.list(&d.descriptors),
	})
	switch {
	case !ok:
		return
	case d.name == "":
		p.problem(root.at, "domain", "it is empty: name the domain that Envoy sends")
		return
	}
	top := p.config.domains[d.name]
	if top == nil {
		top = &rule{at: p.place(root.at)}
		p.config.domains[d.name] = top
		p.firstOf[d.name] = p.file
	} else {
		p.differs(Differs, root.at, "domain", "%q is in %s too: the files are read as one, as with MERGE_DOMAIN_CONFIG=true", d.name, p.firstOf[d.name])
	}
	p.descriptors(top, d.descriptors, d.name, "descriptors")
}

// domain is a file, descriptor an entry of a list, and rateLimit what it has of one, all as written.
type domain struct {
	name        string
	descriptors []entry
}

type descriptor struct {
	key, value  string
	limit       *node
	shadow      bool
	share       bool
	descriptors []entry
	keyed       *node // the key
}

type rateLimit struct {
	unit      string
	most      uint32
	times     uint32
	unlimited bool
	name      string
	replaces  []entry

	stated bool // requests_per_unit
}

// descriptors reads a list of rules into parent. The YAML is at most as deep as its
// reader allows.
func (p *parser) descriptors(parent *rule, entries []entry, path, field string) {
	for i, e := range entries {
		n := e.value
		if p.found > maxProblems {
			return
		}
		field := fmt.Sprintf("%s[%d]", field, i)
		d := descriptor{}
		statistics := func(n *node, path string) {
			on := false
			p.flag(&on)(n, path)
			if on {
				p.differs(Ignored, n.at, path, "it changes the names of statistics only. Those of headrace are by domain and rule")
			}
		}
		ok := p.mapping(n, field, map[string]setting{
			"key": func(n *node, path string) { d.keyed = n; p.text(&d.key)(n, path) }, "value": p.text(&d.value),
			"rate_limit":  func(n *node, _ string) { d.limit = n },
			"descriptors": p.list(&d.descriptors),
			"shadow_mode": p.flag(&d.shadow), "share_threshold": p.flag(&d.share),
			"detailed_metric": statistics, "value_to_metric": statistics,
			"quota_mode": func(n *node, path string) {
				on := false
				p.flag(&on)(n, path)
				if on {
					p.differs(Unsupported, n.at, path, "the limit is enforced like any other. In envoyproxy/ratelimit a request is refused once all such limits are over")
				}
			},
			"metadata": func(n *node, path string) {
				p.differs(Unsupported, n.at, path, "responses have no dynamic metadata")
			},
		})
		if !ok {
			continue
		}
		p.descriptor(parent, n, &d, path, field)
	}
}

func (p *parser) descriptor(parent *rule, n *node, d *descriptor, path, field string) {
	if d.key == "" {
		p.problem(n.at, field+".key", "it is empty: write the key of the descriptor entry")
		return
	}
	if strings.Contains(d.key, "*") {
		p.differs(Differs, d.keyed.at, field+".key", "%q is the key itself: * means anything in a value only. In envoyproxy/ratelimit it does so in a key without a value too", d.key)
	}
	path += "." + d.key
	if d.value != "" {
		path += "=" + d.value
	}
	child := &rule{at: p.place(n.at)}
	if other := parent.add(d.key, d.value, child); other != nil {
		p.problem(n.at, field, "%s is at %s too: leave one of them out", path, other.at)
		return
	}
	wild := strings.Contains(d.value, "*")
	switch {
	case d.share && !wild:
		p.problem(n.at, field+".share_threshold", "it needs a value with a *, whose matches share the limit")
	case d.share:
		child.pattern = d.value
	}
	if wild && strings.Index(d.value, "*") < len(d.value)-1 {
		p.differs(Differs, n.at, field+".value", "each * means anything, as in envoyproxy/ratelimit since 2026. Before, only the last character could be one")
	}
	if d.limit != nil && d.limit.kind != null {
		child.limit = p.limit(d.limit, field+".rate_limit", path, d.shadow)
	}
	if child.limit != nil {
		p.config.rules++
	}
	p.descriptors(child, d.descriptors, path, field+".descriptors")
}

// limit reads a rate_limit; nil if there is a problem.
func (p *parser) limit(n *node, field, path string, shadow bool) *limit {
	r := rateLimit{times: 1}
	ok := p.mapping(n, field, map[string]setting{
		"unit":              p.text(&r.unit),
		"requests_per_unit": func(n *node, path string) { r.stated = true; p.number(&r.most)(n, path) },
		"unit_multiplier":   p.number(&r.times),
		"unlimited":         p.flag(&r.unlimited),
		"name":              p.text(&r.name),
		"replaces":          p.list(&r.replaces),
	})
	if !ok {
		return nil
	}
	l := &limit{path: path, name: r.name, shadow: shadow, unlimited: r.unlimited}
	for i, each := range r.replaces {
		field, name := fmt.Sprintf("%s.replaces[%d]", field, i), ""
		if !p.mapping(each.value, field, map[string]setting{"name": p.text(&name)}) {
			continue
		}
		switch name {
		case "":
			p.problem(each.value.at, field+".name", "it is empty: name the limit that this one replaces")
		case r.name:
			p.problem(each.value.at, field+".name", "a limit cannot replace itself: name another one")
		default:
			l.replaces = append(l.replaces, name)
		}
	}
	unit, known := unitOf(r.unit)
	if r.unlimited {
		if known {
			p.problem(n.at, field+".unit", "an unlimited descriptor has no unit: leave out one of them")
		}
		return l
	}
	l.span = span{unit, r.times}
	switch problem := l.span.problem(); {
	case !known:
		p.problem(n.at, field+".unit", "%q is not a unit: use second, minute, hour, day, week, month or year", r.unit)
		return nil
	case problem != "":
		p.problem(n.at, field+".unit_multiplier", "%s", problem)
		return nil
	case !r.stated:
		p.differs(Differs, n.at, field+".requests_per_unit", "it is missing, which means 0, as in envoyproxy/ratelimit: every request is refused")
	}
	l.limits, l.message = l.span.limits(r.most), l.span.message(r.name, r.most)
	return l
}

// setting reads the value of a key of a mapping.
type setting func(n *node, path string)

func (p *parser) text(into *string) setting {
	return func(n *node, path string) {
		switch n.kind {
		case null:
		case text, number:
			*into = n.text
		case list, mapping:
			p.problem(n.at, path, "it is not a text")
		}
	}
}

func (p *parser) flag(into *bool) setting {
	return func(n *node, path string) {
		switch word := strings.ToLower(n.text); {
		case n.kind == null:
		case n.kind == text && slices.Contains([]string{"true", "yes", "on", "y"}, word): // of YAML 1.1, too
			*into = true
		case n.kind == text && slices.Contains([]string{"false", "no", "off", "n"}, word):
			*into = false
		default:
			p.problem(n.at, path, "it is neither true nor false")
		}
	}
}

func (p *parser) number(into *uint32) setting {
	return func(n *node, path string) {
		x, err := strconv.ParseFloat(n.value, 64) // exact for what is allowed
		switch {
		case n.kind == null:
		case n.kind != number || err != nil || x != math.Trunc(x) || x < 0 || x > math.MaxUint32:
			p.problem(n.at, path, "it is not a whole number from 0 to %d", uint32(math.MaxUint32))
		default:
			*into = uint32(x)
		}
	}
}

func (p *parser) list(into *[]entry) setting {
	return func(n *node, path string) {
		switch n.kind {
		case null:
		case list:
			*into = n.items
		case text, number, mapping:
			p.problem(n.at, path, "it is not a list: begin each entry with -")
		}
	}
}
