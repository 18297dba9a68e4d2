package node

import (
	"context"
	"runtime"
	"sync/atomic"
)

// table is the source and the outlet of a run over a slice of which only the results matter: without a journal
// and a sink. Every item has its row from the start, so items begin and end without a lock. Workers take items one
// at a time, so none is held back behind another.
type table[In, Out any] struct {
	*Report[In, Out]

	rows    *results[In, Out]
	started func(*item[In]) // is called with each item, in any order

	_    [64]byte // keeps what every worker writes apart from what every worker reads
	next atomic.Int64
	_    [64]byte
}

func (t *table[In, Out]) open(begin func(*item[In])) source[In] {
	t.started = begin
	return t
}

func (t *table[In, Out]) take(ctx context.Context, it *item[In]) (ok bool, _ error) {
	if t.exhausted() || ctx.Err() != nil {
		return false, nil //nolint:nilerr // the end of ctx is no failure of the input
	}
	i := t.next.Add(1) - 1
	if i >= int64(len(t.rows.ins)) {
		return false, nil
	}
	it.index, it.in = i, t.rows.ins[i]
	t.started(it)
	return true, nil
}

func (t *table[In, Out]) exhausted() bool { return t.next.Load() >= int64(len(t.rows.ins)) }

func (t *table[In, Out]) stop() error { return nil }

func (t *table[In, Out]) begin(*item[In]) {}

func (t *table[In, Out]) end(res *Result[In, Out]) bool {
	if !t.rows.claim(res.Index) {
		return false
	}
	t.rows.set(res)
	return true
}

// close concludes the items without a result, and leaves items that were not taken out of the report.
func (t *table[In, Out]) close(conclude func(Result[In, Out]) Result[In, Out]) {
	n := int64(len(t.rows.ins))
	taken := min(t.next.Swap(n), n)
	for i := range taken {
		if t.rows.claim(i) {
			res := conclude(Result[In, Out]{Index: i, In: t.rows.ins[i]})
			t.rows.set(&res)
		}
		for !t.rows.ended(i) { // it is being written
			runtime.Gosched()
		}
	}
	t.results = t.rows.first(taken)
}
