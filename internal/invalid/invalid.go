// Package invalid collects what is wrong with a configuration, so that a
// constructor can report every problem at once, each under its field's name.
package invalid

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/fault"
)

// Problems gathers field errors for one owner. The zero value with Owner set
// is ready to use; it is not safe for concurrent use.
type Problems struct {
	Owner string
	errs  []error
}

// Addf records a problem with field.
func (p *Problems) Addf(field, format string, args ...any) {
	p.errs = append(p.errs, &fault.FieldError{Owner: p.Owner, Field: field, Problem: fmt.Sprintf(format, args...)})
}

// Add records an error as it is; nil is ignored.
func (p *Problems) Add(err error) {
	if err != nil {
		p.errs = append(p.errs, err)
	}
}

// AddPart records the problems of a part that does not know the owner: each of
// them is put under the owner's name and the part's; nil is ignored.
func (p *Problems) AddPart(part string, err error) {
	if err == nil {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			p.AddPart(part, e)
		}
		return
	}
	p.Add(fmt.Errorf("%s: %s: %w", p.Owner, part, err))
}

// Err returns everything recorded as one joined error, or nil.
func (p *Problems) Err() error { return errors.Join(p.errs...) }
