package node

import (
	"fmt"
	"iter"
	"sync"
)

// Counts is how many items are in which state.
type Counts struct {
	Total   int64 // items that were taken from the input
	Done    int64
	Failed  int64
	Pending int64
	Resumed int64
}

// Report is what became of the items of one run, in the order of the input.
// It is complete, and safe for concurrent reading, once Post or All has it.
type Report[In, Out any] struct {
	node string

	mu      sync.Mutex // guards everything below
	closed  bool
	results []Result[In, Out]
	stopped error // what ended the run early
}

// All yields every item that was taken from the input.
func (r *Report[In, Out]) All() iter.Seq[Result[In, Out]] {
	return r.where(func(State) bool { return true })
}

// Failed yields the items that failed.
func (r *Report[In, Out]) Failed() iter.Seq[Result[In, Out]] {
	return r.where(func(s State) bool { return s == Failed })
}

// Pending yields the items that the end of the run left unfinished.
func (r *Report[In, Out]) Pending() iter.Seq[Result[In, Out]] {
	return r.where(func(s State) bool { return s == Pending })
}

func (r *Report[In, Out]) where(wanted func(State) bool) iter.Seq[Result[In, Out]] {
	return func(yield func(Result[In, Out]) bool) {
		for i := range r.results {
			if wanted(r.results[i].State) && !yield(r.results[i]) {
				return
			}
		}
	}
}

// Values returns one Out for each item, in the order of the input. An item that
// is not done has the zero Out there, or what the handler's Unfinished returns:
// look at Err before you take them for results.
func (r *Report[In, Out]) Values() []Out {
	values := make([]Out, len(r.results))
	for i := range r.results {
		values[i] = r.results[i].Out
	}
	return values
}

// Counts counts the items by state.
func (r *Report[In, Out]) Counts() Counts {
	c := Counts{Total: int64(len(r.results))}
	for i := range r.results {
		switch r.results[i].State {
		case Done:
			c.Done++
		case Failed:
			c.Failed++
		case Pending:
			c.Pending++
		case Resumed:
			c.Resumed++
		}
	}
	return c
}

// Err returns nil if every item of the input is done, or else a *BatchError.
func (r *Report[In, Out]) Err() error {
	c := r.Counts()
	if c.Failed == 0 && c.Pending == 0 && r.stopped == nil {
		return nil
	}
	e := &BatchError{Node: r.node, Counts: c, Stopped: r.stopped, of: r}
	for f := range r.Failed() {
		if e.First = append(e.First, &itemError{f.Index, f.Err}); len(e.First) == maxFirst {
			break
		}
	}
	return e
}

// begin notes that an item was taken; its index is the next.
func (r *Report[In, Out]) begin(res Result[In, Out]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.results = append(r.results, res)
	}
}

// end notes what became of it; false if that comes too late.
func (r *Report[In, Out]) end(res Result[In, Out]) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.results[res.Index] = res
	return true
}

// close ends the report: what comes later, from code that hung, is too late.
func (r *Report[In, Out]) close(stopped error) (unfinished []Result[In, Out]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for i := range r.results {
		if res := &r.results[i]; res.State == Pending && res.Err == nil {
			res.Err = stopped
			unfinished = append(unfinished, *res)
		}
	}
	return unfinished
}

// maxFirst is how many failures a BatchError carries.
const maxFirst = 10

// BatchError says that a batch has items that are not done.
type BatchError struct {
	Node    string // the batch's name
	Counts  Counts
	First   []error // the first failures in the order of the input, at most ten
	Stopped error   // why the run ended before the end of its input; nil if it did not

	of any // the report
}

// Error gives the counts, the reason for stopping and the first failure.
func (e *BatchError) Error() string {
	text := fmt.Sprintf("node %q: %d of %d items failed", e.Node, e.Counts.Failed, e.Counts.Total)
	if e.Counts.Pending > 0 {
		text += fmt.Sprintf(", %d pending, %d done", e.Counts.Pending, e.Counts.Done)
	}
	if e.Stopped != nil {
		text += fmt.Sprintf(", stopped: %v", e.Stopped)
	}
	if len(e.First) > 0 && !e.stoppedBy(e.First[0]) { // else it was told just before
		text += fmt.Sprintf("; first: %v", e.First[0])
	}
	return text
}

// Unwrap returns First and Stopped, so that errors.Is and errors.As look into
// all of them, and into none twice: batches nest, and so would the doubling.
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
