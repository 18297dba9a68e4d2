package node

import (
	"runtime"
	"sync/atomic"
)

// table is the source and the outlet of a run over a slice of which only the results matter: without a journal
// and a sink. Every item has its row from the start, so items begin and end without a lock. Workers take items one
// at a time, so none is held back behind another.
type table[In, Out any] struct {
	*Report[In, Out]

	rows *results[In, Out]
	feed feed[In] // begin is called in any order

	_    [64]byte // keeps what every worker writes apart from what every worker reads
	next atomic.Int64
	_    [64]byte
}

func (t *table[In, Out]) open(f feed[In]) source[In] {
	t.feed = f
	return t
}

func (t *table[In, Out]) take(it *item[In]) (ok bool, _ error) {
	if t.exhausted() || !t.feed.may() {
		return false, nil
	}
	i := t.next.Add(1) - 1
	if i >= int64(len(t.rows.ins)) {
		return false, nil
	}
	it.index, it.in = i, t.rows.ins[i]
	t.feed.begin(it)
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
