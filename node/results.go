package node

import (
	"iter"
	"slices"
	"sync"
	"sync/atomic"
)

// results is the results of the items of one run, by index. They are kept in
// columns, because most items have neither a key nor an error.
type results[In, Out any] struct {
	ins   []In
	outs  []Out
	fates []fate
	keys  []string // nil if the batch has none
	errs  *failures
}

// failures is the errors of items, by index.
type failures struct {
	mu sync.Mutex // guards of
	of map[int64]error
}

// fate is what became of an item, apart from its value.
type fate struct {
	attempts int
	state    State
	step     atomic.Uint32 // how far its result has come
}

// The steps of a result.
const (
	rowOpen    uint32 = iota // the item is still worked on
	rowClaimed               // it is being written
	rowEnded
)

// newResults has space for expected items.
func newResults[In, Out any](keyed bool, expected int) *results[In, Out] {
	r := &results[In, Out]{
		ins:   make([]In, 0, expected),
		outs:  make([]Out, 0, expected),
		fates: make([]fate, 0, expected),
		errs:  &failures{of: map[int64]error{}},
	}
	if keyed {
		r.keys = make([]string, 0, expected)
	}
	return r
}

// newTable has all items, none of which is ended.
func newTable[In, Out any](keyed bool, items []In) *results[In, Out] {
	r := newResults[In, Out](keyed, len(items))
	r.ins = append(r.ins, items...)
	return r.first(int64(len(items)))
}

// first has the first n rows, in the same place.
func (r *results[In, Out]) first(n int64) *results[In, Out] {
	part := &results[In, Out]{ins: r.ins[:n], outs: r.outs[:n], fates: r.fates[:n], errs: r.errs}
	if r.keys != nil {
		part.keys = r.keys[:n]
	}
	return part
}

// add makes room for the result of the next item.
func (r *results[In, Out]) add(it *item[In]) {
	var none Out
	r.ins = append(r.ins, it.in)
	r.outs = append(r.outs, none)
	r.fates = append(r.fates, fate{})
	if r.keys != nil {
		r.keys = append(r.keys, "")
	}
}

// claim reports whether the caller is the one to set the result of item i.
func (r *results[In, Out]) claim(i int64) bool {
	return r.fates[i].step.CompareAndSwap(rowOpen, rowClaimed)
}

func (r *results[In, Out]) ended(i int64) bool { return r.fates[i].step.Load() == rowEnded }

func (r *results[In, Out]) set(res *Result[In, Out]) {
	i := res.Index
	r.outs[i] = res.Out
	if r.keys != nil {
		r.keys[i] = res.Key
	}
	if res.Err != nil {
		r.errs.mu.Lock()
		r.errs.of[i] = res.Err
		r.errs.mu.Unlock()
	}
	f := &r.fates[i]
	f.attempts, f.state = res.Attempts, res.State
	f.step.Store(rowEnded)
}

func (r *results[In, Out]) at(i int) Result[In, Out] {
	res := Result[In, Out]{
		Index: int64(i), In: r.ins[i], Out: r.outs[i],
		Attempts: r.fates[i].attempts, State: r.fates[i].state, Err: r.errs.of[int64(i)],
	}
	if r.keys != nil {
		res.Key = r.keys[i]
	}
	return res
}

func (r *results[In, Out]) all() iter.Seq[Result[In, Out]] {
	return func(yield func(Result[In, Out]) bool) {
		for i := range r.fates {
			if !yield(r.at(i)) {
				return
			}
		}
	}
}

func (r *results[In, Out]) unended() iter.Seq[Result[In, Out]] {
	return func(yield func(Result[In, Out]) bool) {
		for i := range r.fates {
			if !r.ended(int64(i)) && !yield(r.at(i)) {
				return
			}
		}
	}
}

func (r *results[In, Out]) counts() Counts {
	c := Counts{Total: int64(len(r.fates))}
	for i := range r.fates {
		c.count(r.fates[i].state)
	}
	return c
}

func (r *results[In, Out]) values() []Out { return slices.Clone(r.outs) }
