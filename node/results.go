package node

import (
	"iter"
	"slices"
)

// results is the results of the items of one run, by index. They are kept in
// columns, because most items have neither a key nor an error.
type results[In, Out any] struct {
	ins   []In
	outs  []Out
	fates []fate
	keys  []string        // nil if the batch has none
	errs  map[int64]error // by index
}

// fate is what became of an item, apart from its value.
type fate struct {
	attempts int
	state    State
	ended    bool // else it is still worked on
}

// newResults has space for expected items.
func newResults[In, Out any](keyed bool, expected int) *results[In, Out] {
	r := &results[In, Out]{
		ins:   make([]In, 0, expected),
		outs:  make([]Out, 0, expected),
		fates: make([]fate, 0, expected),
		errs:  map[int64]error{},
	}
	if keyed {
		r.keys = make([]string, 0, expected)
	}
	return r
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

func (r *results[In, Out]) set(res *Result[In, Out]) {
	i := res.Index
	r.outs[i] = res.Out
	r.fates[i] = fate{attempts: res.Attempts, state: res.State, ended: true}
	if r.keys != nil {
		r.keys[i] = res.Key
	}
	if res.Err != nil {
		r.errs[i] = res.Err
	}
}

func (r *results[In, Out]) at(i int) Result[In, Out] {
	res := Result[In, Out]{
		Index: int64(i), In: r.ins[i], Out: r.outs[i],
		Attempts: r.fates[i].attempts, State: r.fates[i].state, Err: r.errs[int64(i)],
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
			if !r.fates[i].ended && !yield(r.at(i)) {
				return
			}
		}
	}
}

func (r *results[In, Out]) counts() Counts {
	c := Counts{Total: int64(len(r.fates))}
	for _, f := range r.fates {
		c.count(f.state)
	}
	return c
}

func (r *results[In, Out]) values() []Out { return slices.Clone(r.outs) }
