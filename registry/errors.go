package registry

import (
	"fmt"

	"github.com/headrace/headrace/internal/document"
)

// ExistsError is returned by Register for a name that is taken.
type ExistsError struct {
	Name string
}

// Error implements error.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("registry: the name %q is taken: Replace changes its guard in place, GetOrCreate shares it, "+
		"Remove frees the name", document.Clip(e.Name))
}

// ParseError is one problem of a configuration that was read from text.
type ParseError struct {
	File    string // empty if it was read from memory
	Line    int    // from 1
	Column  int    // in bytes, from 1
	Path    string // of the value, such as guards.ols.limits or guards["openai/eu"]; may be empty
	Problem string // what is wrong and what would be right
	Err     error  // the cause, such as a *throttle.ParseError; may be nil
}

// Error implements error.
func (e *ParseError) Error() string {
	place := fmt.Sprintf("%d:%d: ", e.Line, e.Column)
	if e.File != "" {
		place = e.File + ":" + place
	} else {
		place = "line " + place
	}
	if e.Path != "" {
		place += document.Clip(e.Path) + ": "
	}
	return "registry: " + place + e.Problem
}

// Unwrap returns Err.
func (e *ParseError) Unwrap() error { return e.Err }
