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

// ParseError is one place of a text that cannot be read as Limits.
type ParseError struct {
	Text    string // what was read there; empty at the end of a limit
	Offset  int    // where it begins in the whole text, in bytes
	Problem string // what is wrong with it and what would be right
}

// Error names the piece, its place and the remedy.
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

// ParseLimits reads limits that are separated by commas:
//
//	5/s                            Sliding: 5 requests in any second
//	200k tokens/min                Sliding, of tokens
//	100/15min, 5 per 250ms         any number of a unit of time, or a Go duration
//	500 rpm, 200000 tpm            the same, abbreviated
//	bucket 10/s burst 20           Bucket; the burst of one that names none is what it refills in a second, at least 1
//	fixed 10000/day@UTC            Fixed; the anchor is UTC unless something else follows the @:
//	fixed 1/day@Asia/Tokyo         a time zone: its days and hours, and weeks that begin on a Monday
//	fixed 1/day@2026-01-01T09:30:00Z
//	                               an RFC 3339 time, at whose offset the days are counted
//	fixed 1/day@2026-01-01T09:30:00-08:00[America/Los_Angeles]
//	                               an RFC 9557 time: its days are those of the zone
//	8 concurrent                   Concurrency, also written concurrency 8
//	unlimited                      the zero Limits; stands alone
//
// Units are requests, which is what a number without one counts, tokens, input
// tokens, output tokens and points, in the singular too. An abbreviation is r
// or q, t, it, ot for the first four of them, p, and s, m, h or d. Units of time
// are ns, us, ms, s, min, h, day and week, by their common names. A day is 24
// hours, except for Fixed. A month or a year has no fixed length and is
// refused. Numbers may hold underscores and end in k or M, and a bucket's may
// have decimals. Case does not matter, except in the names of time zones, which
// are found by time.LoadLocation.
//
// All problems come at once, each as a *ParseError or, if a limit can be read but
// not used, as the *fault.FieldError of Validate; Windows[i] counts the windows of the
// text, from 0. After 20 problems no more is read. An empty text is a problem,
// and so is one of more than 64 KiB.
//
// String is the inverse.
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
