package node

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// summaryMost is how many failures a report keeps that has no values.
const summaryMost = 100

// keeper is what a report has of its items.
type keeper[In, Out any] interface {
	add(it *item[In])
	set(res *Result[In, Out])
	// all yields the items that are kept, in the order of the input.
	all() iter.Seq[Result[In, Out]]
	counts() Counts
	// unended yields the items that have no result yet.
	unended() iter.Seq[Result[In, Out]]
	values() []Out
}

// summary counts, and keeps the first failures: a sink has the rest.
type summary[In, Out any] struct {
	n       Counts
	failed  []Result[In, Out]
	running map[int64]In // by index
}

func newSummary[In, Out any]() *summary[In, Out] {
	return &summary[In, Out]{running: map[int64]In{}}
}

func (s *summary[In, Out]) add(it *item[In]) {
	s.n.Total++
	s.running[it.index] = it.in
}

func (s *summary[In, Out]) set(res *Result[In, Out]) {
	delete(s.running, res.Index)
	s.n.count(res.State)
	if res.State == Failed && len(s.failed) < summaryMost {
		s.failed = append(s.failed, *res)
	}
}

func (s *summary[In, Out]) all() iter.Seq[Result[In, Out]] {
	return func(yield func(Result[In, Out]) bool) {
		byIndex := func(a, b Result[In, Out]) int { return cmp.Compare(a.Index, b.Index) }
		for _, res := range slices.SortedFunc(slices.Values(s.failed), byIndex) { // several may read at once
			if !yield(res) {
				return
			}
		}
	}
}

func (s *summary[In, Out]) counts() Counts { return s.n }

func (s *summary[In, Out]) unended() iter.Seq[Result[In, Out]] {
	return func(yield func(Result[In, Out]) bool) {
		for _, i := range slices.Sorted(maps.Keys(s.running)) {
			if !yield(Result[In, Out]{Index: i, In: s.running[i]}) {
				return
			}
		}
	}
}

func (s *summary[In, Out]) values() []Out { return nil }
