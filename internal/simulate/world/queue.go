package world

import "time"

// Queue holds happenings of type E until their time has come. The zero Queue
// is empty and its clock stands at 0. It is not safe for concurrent use.
//
// It is a heap of four children a node, by value: shallow, and no allocation
// once it has grown to the number of happenings that are pending at a time.
type Queue[E any] struct {
	now  time.Duration
	seq  uint64
	heap []entry[E]
}

type entry[E any] struct {
	at  time.Duration
	seq uint64
	e   E
}

const arity = 4

func (a *entry[E]) before(b *entry[E]) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

// Now returns the time of what happened last.
func (q *Queue[E]) Now() time.Duration { return q.now }

// Len returns how many happenings are pending.
func (q *Queue[E]) Len() int { return len(q.heap) }

// At arranges e for the time at, or for now if that has passed.
func (q *Queue[E]) At(at time.Duration, e E) {
	q.seq++
	add := entry[E]{max(at, q.now), q.seq, e}
	q.heap = append(q.heap, add)
	h, i := q.heap, len(q.heap)-1
	for i > 0 {
		parent := (i - 1) / arity
		if !add.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = add
}

// Next takes out what happens next and moves the clock there; false if nothing
// is left up to and including until.
func (q *Queue[E]) Next(until time.Duration) (e E, ok bool) {
	if len(q.heap) == 0 || q.heap[0].at > until {
		return e, false
	}
	q.now, e = q.heap[0].at, q.heap[0].e
	last := len(q.heap) - 1
	sink := q.heap[last]
	q.heap[last] = entry[E]{} // what it points to may be garbage now
	q.heap = q.heap[:last]
	if last > 0 {
		q.sink(sink)
	}
	return e, true
}

// sink fills the hole at the top with e, which belongs somewhere below.
func (q *Queue[E]) sink(e entry[E]) {
	h, i := q.heap, 0
	for {
		least := i*arity + 1
		if least >= len(h) {
			break
		}
		for c := least + 1; c < min(i*arity+1+arity, len(h)); c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if !h[least].before(&e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}
