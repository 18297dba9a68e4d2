package registry

import (
	"errors"

	"github.com/headrace/headrace/internal/document"
	"github.com/headrace/headrace/presets"
)

// ParseJSON reads a configuration from JSON with the keys of Config;
// docs/registry.md has an example. Limits are text for throttle.ParseLimits, durations
// for time.ParseDuration. Unknown and repeated keys are errors, except "$schema". Up
// to 20 problems are joined, also those of Validate, each a *ParseError. Tables of
// your own presets are added to presets.Default() and become Config.Presets.
func ParseJSON(data []byte, own ...*presets.Table) (Config, error) {
	root, at, err := document.Read(data)
	if err != nil {
		e := &ParseError{Problem: err.Error(), Err: err}
		e.Line, e.Column = document.Place(string(data), at)
		return Config{}, e
	}
	var (
		c  Config
		ps problems
	)
	document.Decode(root, &c, &ps.Problems)
	if len(own) > 0 {
		c.Presets = presets.Default().With(own...)
	}
	typed := len(ps.List)
	c.entries(&ps)
	ps.Find(root, typed)
	return c, ps.told(string(data))
}

// told is the first problems, in the order of the text.
func (ps *problems) told(text string) error {
	var errs []error
	for _, p := range ps.Placed(text) {
		errs = append(errs, &ParseError{Line: p.Line, Column: p.Column, Path: p.Path, Problem: p.Text, Err: p.Err})
	}
	return errors.Join(errs...)
}

// problems gathers those of one configuration, of which the place is not known yet.
type problems struct{ document.Problems }
