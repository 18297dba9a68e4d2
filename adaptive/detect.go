package adaptive

import "strings"

// DefaultDetector judges an error by a RateLimitHit in it; else by the status,
// error code and headers of AnswerIn; else by words such as "rate limit" in the
// text of the innermost error, unless that is a typed error of the standard
// library or of headrace. It returns no verdict for other errors.
func DefaultDetector(err error) Feedback {
	if err == nil {
		return Feedback{Verdict: OK}
	}
	if own := hitIn(err); own != nil {
		return Feedback{Verdict: Hit, Kind: own.Kind, RetryAfter: own.RetryAfter, Source: own.Source, Err: err}
	}
	var a answer
	walk(err, a.read)
	if a.status == 0 {
		return judgeText(err)
	}
	f := a.judge()
	f.Err = err
	return f
}

// walk visits err and all that it wraps, from the outside in, as errors.As
// does, but without trusting them.
func walk(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	for _, e := range inside(err) {
		walk(e, visit)
	}
}

func inside(err error) []error {
	defer survive()
	switch u := err.(type) { //nolint:errorlint // this is the walk
	case interface{ Unwrap() error }:
		return []error{u.Unwrap()}
	case interface{ Unwrap() []error }:
		return u.Unwrap()
	}
	return nil
}

// survive is deferred around the methods of foreign types, which may panic: a
// nil pointer in an error interface is the usual case.
func survive() { _ = recover() }

func textOf(err error) string {
	defer survive()
	return strings.ToLower(err.Error())
}
