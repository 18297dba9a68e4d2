package requests

import (
	"container/heap"
	"slices"
)

// Bounds of the lengths that are remembered.
const (
	longBody = 64 << 10 // shorter ones take little memory in any number
	mostLong = 2000
)

// longest holds the lengths of the longest requests, at most mostLong, with the shortest of them first.
type longest []int

// Len implements heap.Interface.
func (l *longest) Len() int { return len(*l) }

// Less implements heap.Interface.
func (l *longest) Less(i, j int) bool { return (*l)[i] < (*l)[j] }

// Swap implements heap.Interface.
func (l *longest) Swap(i, j int) { (*l)[i], (*l)[j] = (*l)[j], (*l)[i] }

// Push implements heap.Interface.
func (l *longest) Push(x any) { *l = append(*l, x.(int)) } //nolint:forcetypeassert // of add

// Pop implements heap.Interface.
func (l *longest) Pop() any {
	n := len(*l) - 1
	last := (*l)[n]
	*l = (*l)[:n]
	return last
}

// add notes a request of n bytes.
func (l *longest) add(n int) {
	switch {
	case n <= longBody:
	case len(*l) < mostLong:
		heap.Push(l, n)
	case n > (*l)[0]:
		(*l)[0] = n
		heap.Fix(l, 0)
	}
}

// Within returns how many requests fit in memory of that many bytes whichever they are, at least 1, and at most the given number.
func (s *Scan) Within(memory, most int) int {
	if s == nil {
		return most
	}
	all := slices.Sorted(slices.Values(s.long))
	slices.Reverse(all)
	for i, n := range all[:min(len(all), most)] {
		if memory -= n; memory < 0 {
			return max(1, i)
		}
	}
	if len(all) < mostLong || most <= mostLong {
		return most
	}
	return min(most, mostLong+memory/s.long[0]) // no other one is longer
}
