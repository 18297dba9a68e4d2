package node

import (
	"iter"
	"sync"
)

// Counts is the number of items in each state.
type Counts struct {
	Total   int64 // items that were taken from the input
	Done    int64
	Failed  int64
	Pending int64
	Resumed int64
}

func (c *Counts) count(s State) {
	switch s {
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

// Report has the outcome of one run, in the order of the input. Post and All receive it complete; it
// is safe for concurrent reading.
type Report[In, Out any] struct {
	node string

	mu      sync.Mutex // guards everything below
	closed  bool
	results keeper[In, Out]
	stopped error // what ended the run early

	leftover, stale int64
}

// All yields every item of the input; with a sink, only the failures that are kept.
func (r *Report[In, Out]) All() iter.Seq[Result[In, Out]] { return r.results.all() }

// Failed yields the items that failed; with a sink, the first 100.
func (r *Report[In, Out]) Failed() iter.Seq[Result[In, Out]] { return r.where(Failed) }

// Pending yields the items that the run left unfinished, or that were refused for too long; with a sink, none.
func (r *Report[In, Out]) Pending() iter.Seq[Result[In, Out]] { return r.where(Pending) }

func (r *Report[In, Out]) where(wanted State) iter.Seq[Result[In, Out]] {
	return func(yield func(Result[In, Out]) bool) {
		for res := range r.results.all() {
			if res.State == wanted && !yield(res) {
				return
			}
		}
	}
}

// Values returns one Out for each item, in the order of the input; with a sink, none. An item that is
// not done has the zero Out, or that of Unfinished: check Err first.
func (r *Report[In, Out]) Values() []Out { return r.results.values() }

// Counts counts the items by state.
func (r *Report[In, Out]) Counts() Counts { return r.results.counts() }

// Leftover returns how many records of earlier runs match no item of this one, because the input or
// WithKey has changed; in a loop, also those of rounds to come. It is 0 in a run that was stopped.
func (r *Report[In, Out]) Leftover() int64 { return r.leftover }

// Stale returns how many Resumed results are older than a day.
func (r *Report[In, Out]) Stale() int64 { return r.stale }

// Err returns nil if every item is done, or else a *BatchError.
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

func (r *Report[In, Out]) origin() any { return r }

// begin notes that an item was taken; its index is the next.
func (r *Report[In, Out]) begin(it *item[In]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.results.add(it)
	}
}

// end notes what became of it; false if that comes too late.
func (r *Report[In, Out]) end(res *Result[In, Out]) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.results.set(res)
	return true
}

// close ends the report: what comes later, from code that hung, is too late.
func (r *Report[In, Out]) close(conclude func(Result[In, Out]) Result[In, Out]) {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock() // from here on nothing else changes it
	for res := range r.results.unended() {
		res = conclude(res)
		r.results.set(&res)
	}
}
