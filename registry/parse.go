package registry

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
)

// ParseJSON reads a configuration from JSON. Its keys are those of Config:
//
//	{
//	  "default": {"limits": "1/s"},
//	  "services": {
//	    "openai": {"preset": "openai/tier1", "share": 0.5, "max_wait": "5m"},
//	    "ols": {"limits": "4/s, 8 concurrent", "law": "fixed", "hosts": {"*": {"limits": "1/s"}}}
//	  }
//	}
//
// Limits are a text for throttle.ParseLimits, max_wait is one for
// time.ParseDuration. Keys that are unknown or come twice are refused; "$schema"
// may stand beside default.
//
// All problems, those of Validate included, are joined, each a *ParseError with
// the line, the column and the way to the value. After 20 no more is told.
func ParseJSON(data []byte) (Config, error) {
	root, at, err := readTree(data)
	if err != nil {
		e := &ParseError{Problem: err.Error(), Err: err}
		e.Line, e.Column = place(data, at)
		return Config{}, e
	}
	var (
		c  Config
		ps problems
	)
	decode(root, &c, &ps)
	typed := len(ps.list)
	for range c.entries(&ps) {
		continue
	}
	return c, ps.placed(data, root, typed)
}

const mostProblems = 20

// placed is for a configuration that was read. What Validate says about a value
// that could not be read is left out; decoded is how many problems came before.
func (ps *problems) placed(data []byte, root *node, decoded int) error {
	unread := ps.list[:decoded]
	var found []*ParseError
	for i, p := range ps.list {
		if i >= decoded && slices.ContainsFunc(unread, func(q problem) bool { return concerns(q.keys, &p) }) {
			continue
		}
		e := &ParseError{Keys: p.keys, Problem: p.text, Err: p.err}
		at := root.find(p.keys)
		if p.at > 0 {
			at = p.at
		}
		e.Line, e.Column = place(data, at)
		found = append(found, e)
	}
	slices.SortStableFunc(found, func(a, b *ParseError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var errs []error
	for _, e := range found[:min(len(found), mostProblems)] {
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
func place(data []byte, at int) (line, column int) {
	before := data[:min(at, len(data))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}
