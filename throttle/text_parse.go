package throttle

import (
	"errors"
	"fmt"
	"strings"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/invalid"
)

const (
	longestText  = 64 << 10
	mostProblems = 20
)

// ParseError is a place in a text that cannot be read as Limits.
type ParseError struct {
	Text    string // at Offset; empty at the end of a limit
	Offset  int    // in bytes
	Problem string // and its remedy
}

// Error implements error.
func (e *ParseError) Error() string {
	return fmt.Sprintf("throttle: limits: %q at offset %d: %s", clip(e.Text), e.Offset, e.Problem)
}

// clip keeps a hostile text out of a log.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// ParseLimits reads limits separated by commas, such as
//
//	5/s, 200k tokens/min, bucket 10/s burst 20, fixed 10000/day@UTC, 8 concurrent
//
// or "unlimited". docs/limits.md has the grammar. Problems are joined, at most
// 20: each is a *ParseError or, for a limit that can be read but not used, the
// *fault.FieldError of Validate. A text may have 64 KiB.
func ParseLimits(s string) (Limits, error) {
	var r reading
	if r.fits(s) {
		if l := r.limits(s, 0); len(r.errs) == 0 {
			return l, nil
		}
	}
	return Limits{}, errors.Join(r.errs...)
}

// reading is a text of limits, of one key or several, with its problems.
type reading struct {
	path string // of the key, in front of the fields
	errs []error
}

func (r *reading) refuse(text string, at int, problem string) {
	r.errs = append(r.errs, &ParseError{Text: text, Offset: at, Problem: problem})
}

func (r *reading) full() bool { return len(r.errs) >= mostProblems }

func (r *reading) fits(s string) bool {
	if len(s) > longestText {
		r.refuse(s, 0, fmt.Sprintf("the text has %d bytes, and %d are the most", len(s), longestText))
	}
	return len(s) <= longestText
}

// limits reads those of one key; at is their offset in the whole text.
func (r *reading) limits(s string, at int) (l Limits) {
	switch trimmed := strings.TrimSpace(s); {
	case trimmed == "":
		r.refuse("", at+len(s), `there are no limits: write some, such as "5/s, 8 concurrent", or unlimited`)
		return l
	case strings.EqualFold(trimmed, unlimited):
		return l
	}
	for more := true; more && !r.full(); {
		var one string
		one, s, more = strings.Cut(s, ",")
		r.limit(one, at, &l)
		at += len(one) + len(",")
	}
	return l
}

// limit reads one and adds it to l.
func (r *reading) limit(s string, at int, l *Limits) {
	p := newParser(s, at)
	first := p.tok
	w, concurrency := p.limit()
	if p.err == nil && concurrency != 0 && l.Concurrency != 0 {
		p.failAt(first.at, strings.TrimSpace(s), "the concurrency is limited twice: leave one out")
	}
	problems := invalid.Problems{Owner: "throttle"}
	switch {
	case p.err != nil:
		r.errs = append(r.errs, p.err)
	case concurrency != 0:
		checkConcurrency(concurrency, &problems)
	default:
		w.check(fmt.Sprintf("Windows[%d]", len(l.Windows)), &problems)
	}
	r.add(problems.Err())
	if concurrency != 0 {
		l.Concurrency = concurrency
	} else {
		l.Windows = append(l.Windows, w)
	}
}

// add takes over the problems of Validate.
func (r *reading) add(err error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return
	}
	for _, err := range joined.Unwrap() {
		if field, ok := errors.AsType[*fault.FieldError](err); ok {
			field.Field = r.path + field.Field
		}
		r.errs = append(r.errs, err)
	}
}
