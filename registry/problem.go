package registry

import (
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/fault"
)

// problem is what is wrong with one value of a configuration.
type problem struct {
	keys []string
	text string
	err  error // what says so; may be nil
	at   int   // where, if that is not where keys lead; else 0
	mix  bool  // it is about several fields of the entry together
}

// problems gathers those of one configuration, of which the place is not known yet.
type problems struct{ list []problem }

func (ps *problems) addf(keys []string, format string, args ...any) {
	ps.addAt(0, keys, format, args...)
}

// mixf is addf for what follows from several fields of an entry.
func (ps *problems) mixf(keys []string, format string, args ...any) {
	ps.addf(keys, format, args...)
	ps.list[len(ps.list)-1].mix = true
}

func (ps *problems) addAt(at int, keys []string, format string, args ...any) {
	ps.list = append(ps.list, problem{keys: slices.Clone(keys), text: fmt.Sprintf(format, args...), at: at})
}

// add records each of the joined errors in err.
func (ps *problems) add(keys []string, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			ps.add(keys, e)
		}
	} else if err != nil {
		ps.list = append(ps.list, problem{keys: slices.Clone(keys), text: err.Error(), err: err})
	}
}

// err is for a configuration that has no places.
func (ps *problems) err() error {
	var errs []error
	for _, p := range ps.list {
		f := &fault.FieldError{Owner: owner, Field: path(p.keys), Problem: p.text}
		if p.err == nil {
			errs = append(errs, f)
		} else {
			errs = append(errs, &causedError{f, p.err})
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

// below is keys with one more.
func below(keys []string, more ...string) []string { return append(slices.Clone(keys), more...) }
