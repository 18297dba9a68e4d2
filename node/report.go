package node

import (
	"iter"
	"slices"
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
	results results[In, Out]
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
		for i := range r.results.fates {
			if wanted(r.results.fates[i].state) && !yield(r.results.at(i)) {
				return
			}
		}
	}
}

// Values returns one Out for each item, in the order of the input. An item that
// is not done has the zero Out there, or what the handler's Unfinished returns:
// look at Err before you take them for results.
func (r *Report[In, Out]) Values() []Out {
	return slices.Clone(r.results.outs)
}

// Counts counts the items by state.
func (r *Report[In, Out]) Counts() Counts {
	c := Counts{Total: int64(len(r.results.fates))}
	for _, f := range r.results.fates {
		switch f.state {
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
func (r *Report[In, Out]) begin(it item[In]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.results.add(it.in)
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
	r.mu.Unlock() // from here on nobody else changes anything
	for i := range r.results.fates {
		if !r.results.fates[i].ended {
			res := conclude(r.results.at(i))
			r.results.set(&res)
		}
	}
}
