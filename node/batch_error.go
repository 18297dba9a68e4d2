package node

import (
	"fmt"

	"github.com/headrace/headrace/internal/inside"
)

// maxFirst is how many failures a BatchError carries.
const maxFirst = 10

// BatchError is the error of a batch with items that are not done.
type BatchError struct {
	Node    string
	Counts  Counts
	First   []error // the first failures by input order, at most ten
	Stopped error   // why the run ended early, or nil

	of any // the report
	judged
}

// Error has the counts and the first failure.
func (e *BatchError) Error() string {
	text := fmt.Sprintf("node %q: %d of %d items failed", e.Node, e.Counts.Failed, e.Counts.Total)
	if e.Counts.Pending > 0 {
		text += fmt.Sprintf(", %d pending, %d done", e.Counts.Pending, e.Counts.Done)
	}
	if e.Stopped != nil {
		text += fmt.Sprintf(", stopped: %v", e.Stopped)
	}
	if len(e.First) > 0 && !e.stoppedBy(e.First[0]) { // else it was just reported
		text += fmt.Sprintf("; first: %v", e.First[0])
	}
	return text
}

// Unwrap returns First and Stopped, without duplicates.
func (e *BatchError) Unwrap() []error {
	if e.Stopped == nil {
		return e.First
	}
	inside := []error{e.Stopped}
	for _, err := range e.First {
		if !e.stoppedBy(err) {
			inside = append(inside, err)
		}
	}
	return inside
}

// judged marks an error with parts that have been judged: a circuit breaker around the batch does not count it.
type judged = inside.Judged

// stoppedBy reports whether err, one of First, is the failure that stopped the run.
func (e *BatchError) stoppedBy(err error) bool {
	last, stopped := e.Stopped.(*TooManyFailuresError) //nolint:errorlint // the reason itself, and that of this run
	item, ok := err.(*itemError)                       //nolint:errorlint // made by Err
	return stopped && ok && last.of == e.of && last.index == item.index
}

// itemError names the item that an error is of.
type itemError struct {
	index int64
	err   error
}

func (e *itemError) Error() string { return fmt.Sprintf("item %d: %v", e.index, e.err) }

func (e *itemError) Unwrap() error { return e.err }
