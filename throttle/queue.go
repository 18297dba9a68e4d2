package throttle

import (
	"math"
	"time"
)

// lastPlace is the place of a waiter that was never admitted before.
const lastPlace int64 = math.MaxInt64

// waiter is one blocked caller. It leaves the queue exactly once, with a
// permit or an error, and is then told through ready.
type waiter struct {
	next, prev *waiter
	order      int64 // of its arrival at the head of the queue; 0: it has not been looked at there
	place      int64 // waiters queue by place, then in the order of arrival
	load       load
	since      instant
	waited     time.Duration // once it is served
	keeps      bool          // wants a permit; otherwise the cost is taken for good
	queued     bool
	permit     Permit
	err        error
	ready      chan struct{} // holds one
}

// queue is first in, first out, but for waiters that return to an earlier
// place. Waiters are reused; the pool belongs to the limiter because a global
// one would carry channels from one synctest bubble to another.
type queue struct {
	head, tail *waiter
	len        int
	sum        amounts // of all that wait
	spare      *waiter
	spares     int
}

// maxSpares bounds what a crowd of waiters leaves behind.
const maxSpares = 1024

func (q *queue) get() *waiter {
	w := q.spare
	if w == nil {
		return &waiter{ready: make(chan struct{}, 1)}
	}
	q.spare, w.next = w.next, nil
	q.spares--
	return w
}

func (q *queue) put(w *waiter) {
	if q.spares >= maxSpares {
		return
	}
	*w = waiter{ready: w.ready, next: q.spare}
	q.spare = w
	q.spares++
}

// add queues w behind all that have an earlier place or the same.
func (q *queue) add(w *waiter) {
	after := q.tail
	if w.place != lastPlace {
		after = nil
		for n := q.head; n != nil && n.place <= w.place; n = n.next {
			after = n
		}
	}
	w.prev = after
	if after != nil {
		w.next, after.next = after.next, w
	} else {
		w.next, q.head = q.head, w
	}
	if w.next != nil {
		w.next.prev = w
	} else {
		q.tail = w
	}
	w.queued = true
	q.len++
	q.sum.add(&w.load.of)
}

func (q *queue) remove(w *waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		q.head = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		q.tail = w.prev
	}
	w.next, w.prev, w.queued = nil, nil, false
	q.len--
	q.sum.subtract(&w.load.of)
}
