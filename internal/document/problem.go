package document

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/throttle"
)

// Problem is what is wrong with one value of a configuration.
type Problem struct {
	Keys []string
	Text string
	Err  error // the cause; may be nil
	At   int   // the offset, if that is not where Keys lead; else 0
	Mix  bool  // it is about several fields of the entry together
}

// Problems gathers those of one configuration, of which the place is not known yet.
type Problems struct{ List []Problem }

// Addf records a problem of the value that keys lead to.
func (ps *Problems) Addf(keys []string, format string, args ...any) {
	ps.AddAt(0, keys, format, args...)
}

// Mixf is Addf for what follows from several fields of an entry.
func (ps *Problems) Mixf(keys []string, format string, args ...any) {
	ps.Addf(keys, format, args...)
	ps.List[len(ps.List)-1].Mix = true
}

// AddAt is Addf for a problem at an offset.
func (ps *Problems) AddAt(at int, keys []string, format string, args ...any) {
	ps.List = append(ps.List, Problem{Keys: slices.Clone(keys), Text: fmt.Sprintf(format, args...), At: at})
}

// Add records each of the joined errors in err.
func (ps *Problems) Add(keys []string, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			ps.Add(keys, e)
		}
	} else if err != nil {
		ps.List = append(ps.List, Problem{Keys: slices.Clone(keys), Text: err.Error(), Err: err})
	}
}

// addLimits records each of the joined errors of a text of limits.
func (ps *Problems) addLimits(keys []string, text string, err error) {
	from := len(ps.List)
	ps.Add(keys, err)
	for i := range ps.List[from:] {
		p := &ps.List[from+i]
		if e, ok := errors.AsType[*throttle.ParseError](p.Err); ok {
			p.Text = fmt.Sprintf("%q: %s", Clip(cmp.Or(e.Text, text)), e.Problem)
		} else if f, ok := errors.AsType[*fault.FieldError](p.Err); ok {
			p.Text = fmt.Sprintf("%q: %s", Clip(text), f.Problem)
		}
	}
}

// Err is for a configuration without places: a *fault.FieldError for each problem, joined.
func (ps *Problems) Err(owner string) error {
	var errs []error
	for _, p := range ps.List {
		f := &fault.FieldError{Owner: owner, Field: Path(p.Keys), Problem: p.Text}
		if p.Err == nil {
			errs = append(errs, f)
		} else {
			errs = append(errs, &causedError{f, p.Err})
		}
	}
	return errors.Join(errs...)
}

// causedError is a field error with the error that it comes from.
type causedError struct {
	*fault.FieldError
	cause error
}

// Unwrap returns both.
func (e *causedError) Unwrap() []error { return []error{e.FieldError, e.cause} }

// Below is keys with one more.
func Below(keys []string, more ...string) []string { return append(slices.Clone(keys), more...) }

const (
	mostProblems = 20 // that are reported

	// EnoughProblems is how many problems are enough to stop looking for more.
	EnoughProblems = 10 * mostProblems
)

// Find gives each problem its place. What Validate says about a value that could
// not be read is left out; decoded is how many problems came before.
func (ps *Problems) Find(root *Node, decoded int) {
	var found []Problem
	for i, p := range ps.List {
		if i >= decoded && slices.ContainsFunc(ps.List[:decoded], func(q Problem) bool { return concerns(q.Keys, &p) }) {
			continue
		}
		if p.At == 0 {
			p.At = root.find(p.Keys)
		}
		found = append(found, p)
	}
	ps.List = found
}

// Placed is a problem with its place in the text.
type Placed struct {
	Line, Column int // from 1; the column in bytes
	Path         string
	Text         string
	Err          error // may be nil
}

// Placed returns the first problems, in the order of the text.
func (ps *Problems) Placed(text string) (all []Placed) {
	slices.SortStableFunc(ps.List, func(a, b Problem) int { return cmp.Compare(a.At, b.At) })
	for _, p := range ps.List[:min(len(ps.List), mostProblems)] {
		x := Placed{Path: Path(p.Keys), Text: p.Text, Err: p.Err}
		x.Line, x.Column = Place(text, p.At)
		all = append(all, x)
	}
	return all
}

// concerns reports whether p may follow from what could not be read at keys.
func concerns(keys []string, p *Problem) bool {
	if p.Mix && len(keys) > 0 {
		keys = keys[:len(keys)-1]
	}
	return len(keys) <= len(p.Keys) && slices.Equal(keys, p.Keys[:len(keys)])
}

// Place is the line and the column of an offset, both from 1.
func Place(text string, at int) (line, column int) {
	before := text[:min(at, len(text))]
	return 1 + strings.Count(before, "\n"), len(before) - strings.LastIndexByte(before, '\n')
}
