package presets

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/presets/dialect"
)

// mostProblems is where a checker stops to collect: a file of another kind
// would give thousands.
const mostProblems = 50

// checker collects what is wrong with a table.
type checker struct {
	data []byte // nil: the table was made in code
	errs []error
	ids  map[ID]int // the rows that have them
}

func (c *checker) err() error { return errors.Join(c.errs...) }

func (c *checker) addAt(at int, r *row, field, format string, args ...any) {
	if len(c.errs) >= mostProblems {
		return
	}
	e := &RowError{Field: field, Problem: fmt.Sprintf(format, args...)}
	if c.data != nil {
		before := c.data[:min(at, len(c.data))]
		e.Line = bytes.Count(before, []byte{'\n'}) + 1
		e.Column = len(before) - bytes.LastIndexByte(before, '\n')
	}
	if r != nil {
		e.Row, e.ID = r.number, r.id
		r.bad = true
	}
	c.errs = append(c.errs, e)
}

// add puts the problem where the field is, or the row if it has none.
func (c *checker) add(r *row, field, format string, args ...any) {
	at, ok := r.places[field]
	if !ok {
		at = r.at
	}
	c.addAt(at, r, field, format, args...)
}

func (c *checker) unknown(at int, r *row, key string, known []string) {
	hint := "leave it out"
	if near := nearest(key, 1, known, spelling); len(near) > 0 {
		hint = "did you mean " + near[0] + "?"
	}
	c.addAt(at, r, key, "there is no such field: %s", hint)
}

// rows makes profiles of what was read.
func (c *checker) rows(f file) []Profile {
	var profiles []Profile
	for _, r := range f.rows {
		p := Profile{
			ID: r.id, Provider: r.texts["provider"], Tier: r.texts["tier"], Model: r.texts["model"],
			Kind: Kind(r.texts["kind"]), Dialect: dialect.Name(r.texts["dialect"]), Confidence: Confidence(r.texts["confidence"]),
			Scope: r.texts["scope"], Pool: r.texts["pool"], Counts: r.texts["counts"], Status: r.texts["status"], Notes: r.texts["notes"],
			Main: r.flags["main"], Common: r.flags["common"], Hard: r.flags["hard"],
			Algorithm: joined(r.texts["algorithm"], r.texts["window"]),
		}
		c.limits(r, &p)
		c.identity(r, &p)
		c.provenance(r, &p, f)
		profiles = append(profiles, p)
	}
	return profiles
}

// joined leaves out what is empty.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "; ")
}

// profile checks one that was made in code.
func (c *checker) profile(number int, p *Profile) {
	r := &row{number: number, id: p.ID}
	c.identity(r, p)
	if err := p.Limits.Validate(); err != nil {
		c.add(r, "Limits", "%s", err)
	}
	if p.Confidence != "" && p.Confidence.trust() < 0 {
		c.confidence(r, p.Confidence)
	}
}
