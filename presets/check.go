package presets

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/near"
	"github.com/headrace/headrace/presets/dialect"
)

// mostProblems is where a checker stops to collect: a file of another kind
// would give thousands.
const mostProblems = 50

// checker makes profiles and collects what is wrong with them.
type checker struct {
	text   string    // of the file; empty: the table is made in code
	latest time.Time // that a date can be; zero: any
	errs   []*RowError

	ids      map[ID]int // the rows that have them
	places   []place
	dialects []dialect.Name
	zones    map[string]*time.Location // nil: unknown
}

// err joins the problems in the order of their lines.
func (c *checker) err() error {
	slices.SortStableFunc(c.errs, func(a, b *RowError) int { return cmp.Compare(a.Line, b.Line) })
	errs := make([]error, len(c.errs))
	for i, e := range c.errs {
		errs[i] = e
	}
	return errors.Join(errs...)
}

func (c *checker) full() bool { return len(c.errs) >= mostProblems }

func (c *checker) addAt(at int, r *row, field, format string, args ...any) {
	if r != nil {
		r.bad = true
	}
	if c.full() {
		return
	}
	e := &RowError{Field: field, Problem: fmt.Sprintf(format, args...)}
	if c.text != "" {
		before := c.text[:min(at, len(c.text))]
		e.Line = strings.Count(before, "\n") + 1
		e.Column = len(before) - strings.LastIndexByte(before, '\n')
	}
	if r != nil {
		e.Row, e.ID = r.number, r.ID
	}
	c.errs = append(c.errs, e)
}

// add puts the problem where the field is, or the row if it has none.
func (c *checker) add(r *row, field, format string, args ...any) {
	at := r.at
	if i := slices.IndexFunc(r.places, func(p place) bool { return p.key == field }); i >= 0 {
		at = r.places[i].at
	}
	c.addAt(at, r, field, format, args...)
}

func (c *checker) unknown(at int, r *row, key string, known func() []string) {
	if c.full() {
		return
	}
	hint := "leave it out"
	if meant := near.Names(key, known(), 1); len(meant) > 0 {
		hint = "did you mean " + meant[0] + "?"
	}
	c.addAt(at, r, key, "unknown field: %s", hint)
}

// joined leaves out what is empty.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "; ")
}

// profile checks and completes one that was made in code.
func (c *checker) profile(number int, p Profile) *Profile {
	p = p.clone()
	r := &row{Profile: &p, number: number}
	c.identity(r)
	if err := r.Limits.Validate(); err != nil {
		c.add(r, "Limits", "%s", err)
	}
	if c.isAhead(r.AsOf) {
		c.add(r, "AsOf", "%s has not come yet", r.Date())
	}
	if r.Confidence != "" {
		c.confidence(r)
	}
	return r.Profile
}
