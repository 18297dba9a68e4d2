package registry

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/headrace/headrace/presets"
)

// ParseJSON reads a configuration from JSON, whose keys are those of Config;
// docs/registry.md has an example. Limits are text for throttle.ParseLimits, durations
// for time.ParseDuration. Unknown and repeated keys are errors, except "$schema". Up
// to 20 problems are joined, also those of Validate, each a *ParseError. Tables of
// your own presets are added to presets.Default() and become Config.Presets.
func ParseJSON(data []byte, own ...*presets.Table) (Config, error) {
	root, at, err := readTree(data)
	if err != nil {
		e := &ParseError{Problem: err.Error(), Err: err}
		e.Line, e.Column = place(string(data), at)
		return Config{}, e
	}
	var (
		c  Config
		ps problems
	)
	decode(root, &c, &ps)
	if len(own) > 0 {
		c.Presets = presets.Default().With(own...)
	}
	typed := len(ps.list)
	c.entries(&ps)
	ps.find(root, typed)
	return c, ps.told(string(data))
}

const (
	mostProblems   = 20                // that are reported
	enoughProblems = 10 * mostProblems // where looking for more ends
)

// find gives each problem its place. What Validate says about a value that could
// not be read is left out; decoded is how many problems came before.
func (ps *problems) find(root *node, decoded int) {
	var found []problem
	for i, p := range ps.list {
		if i >= decoded && slices.ContainsFunc(ps.list[:decoded], func(q problem) bool { return concerns(q.keys, &p) }) {
			continue
		}
		if p.at == 0 {
			p.at = root.find(p.keys)
		}
		found = append(found, p)
	}
	ps.list = found
}

// told is the first problems, in the order of the text.
func (ps *problems) told(text string) error {
	slices.SortStableFunc(ps.list, func(a, b problem) int { return cmp.Compare(a.at, b.at) })
	var errs []error
	for _, p := range ps.list[:min(len(ps.list), mostProblems)] {
		e := &ParseError{Path: path(p.keys), Problem: p.text, Err: p.err}
		e.Line, e.Column = place(text, p.at)
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// concerns reports whether p may follow from what could not be read at keys.
func concerns(keys []string, p *problem) bool {
	if p.mix && len(keys) > 0 {
		keys = keys[:len(keys)-1]
	}
	return len(keys) <= len(p.keys) && slices.Equal(keys, p.keys[:len(keys)])
}

// place is the line and the column of an offset, both from 1.
func place(text string, at int) (line, column int) {
	before := text[:min(at, len(text))]
	return 1 + strings.Count(before, "\n"), len(before) - strings.LastIndexByte(before, '\n')
}
