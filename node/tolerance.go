package node

import (
	"fmt"
	"math"
)

// Tolerance is when failed items stop a batch. The zero Tolerance never stops it.
type Tolerance struct {
	limited   bool
	most      int64
	uncounted func(error) bool // may be nil
}

// FailFast stops at the first failed item. Running items may finish: see WithGrace.
func FailFast() Tolerance { return MaxFailures(0) }

// MaxFailures stops when more than n items have failed; a negative n counts as 0.
func MaxFailures(n int64) Tolerance { return Tolerance{limited: true, most: max(n, 0)} }

// Except returns a Tolerance like t that does not count failures for which uncounted returns true. It replaces an earlier
// Except. uncounted must be safe for concurrent use; if it panics, the failure counts. Package engine rejects batches with
// such a Tolerance, because they run on several machines.
func (t Tolerance) Except(uncounted func(err error) bool) Tolerance {
	t.uncounted = uncounted
	return t
}

// TooManyFailuresError is the reason for a stop by a Tolerance.
type TooManyFailuresError struct {
	Failures int64 // failed items at that moment, without those of Except
	Allowed  int64
	Last     error // the failure that was one too many

	of    any   // the report of the run
	index int64 // of the item
}

// Error has the counts and the last failure.
func (e *TooManyFailuresError) Error() string {
	return fmt.Sprintf("node: %d items failed and %d are allowed, at last: %v", e.Failures, e.Allowed, e.Last)
}

// Unwrap returns Last.
func (e *TooManyFailuresError) Unwrap() error { return e.Last }

func (t Tolerance) allows() int64 {
	if !t.limited {
		return math.MaxInt64
	}
	return t.most
}

// counts reports whether err is a failure that t counts.
func (t Tolerance) counts(err error) (yes bool) {
	if t.uncounted == nil {
		return true
	}
	defer func() {
		if recover() != nil { // of user code
			yes = true
		}
	}()
	return !t.uncounted(err)
}
