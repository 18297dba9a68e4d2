package node

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
)

// line brings results from the workers to one consumer, in the order of the
// input or as they finish. It is bounded: an item begins only when the line
// has room for its result.
type line[In, Out any] struct {
	unordered bool
	room      chan struct{} // holds one for each item that has begun and was not delivered
	ready     chan struct{} // holds one when the consumer should look

	popped []Result[In, Out] // the consumer's

	mu      sync.Mutex // guards everything below
	slots   []slot[In, Out]
	running map[int64]Result[In, Out] // by index; only if unordered, else they are in their slots
	ended   int64                     // items
	next    int64                     // the position that is delivered next
	closed  bool
}

type slot[In, Out any] struct {
	res   Result[In, Out]
	state slotState
}

type slotState uint8

const (
	vacant slotState = iota
	running
	ready
)

func newLine[In, Out any](window int, unordered bool) *line[In, Out] {
	return &line[In, Out]{
		unordered: unordered,
		room:      make(chan struct{}, window),
		ready:     make(chan struct{}, 1),
		slots:     make([]slot[In, Out], window),
		popped:    make([]Result[In, Out], 0, window),
		running:   map[int64]Result[In, Out]{},
	}
}

func (l *line[In, Out]) origin() any { return l }

func (l *line[In, Out]) reserve(ctx context.Context) bool { return enter(ctx, l.room) }

func (l *line[In, Out]) begin(it *item[In]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	res := Result[In, Out]{Index: it.index, In: it.in}
	switch {
	case l.closed:
	case l.unordered:
		l.running[it.index] = res
	default:
		*l.at(it.index) = slot[In, Out]{res: res, state: running}
	}
}

func (l *line[In, Out]) end(res *Result[In, Out]) bool {
	placed, first := l.place(res)
	if first {
		select {
		case l.ready <- struct{}{}:
		default:
		}
	}
	return placed
}

// place puts res where it will be delivered, unless it comes too late. first reports that the consumer was waiting for this
// one: it takes those behind it along.
func (l *line[In, Out]) place(res *Result[In, Out]) (placed, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false, false
	}
	position := res.Index
	if l.unordered {
		position = l.ended
		delete(l.running, res.Index)
	}
	l.ended++
	*l.at(position) = slot[In, Out]{res: *res, state: ready}
	return true, position == l.next
}

func (l *line[In, Out]) at(position int64) *slot[In, Out] {
	return &l.slots[position%int64(len(l.slots))]
}

// deliver yields results until over is closed. It returns false if yield ended the iteration.
func (l *line[In, Out]) deliver(over <-chan struct{}, yield func(Result[In, Out]) bool) bool {
	for {
		select {
		case <-l.ready:
		case <-over:
			return l.flush(yield)
		}
		if !l.flush(yield) {
			return false
		}
	}
}

func (l *line[In, Out]) flush(yield func(Result[In, Out]) bool) bool {
	for {
		l.pop()
		if len(l.popped) == 0 {
			return true
		}
		for i := range l.popped {
			res := l.popped[i]
			l.popped[i] = Result[In, Out]{}
			<-l.room
			if !yield(res) {
				return false
			}
		}
	}
}

// pop takes out what can be delivered: to take the lock for each would cost more than all else here.
func (l *line[In, Out]) pop() {
	l.popped = l.popped[:0]
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := l.at(l.next); s.state == ready; s = l.at(l.next) {
		l.popped = append(l.popped, s.res)
		*s = slot[In, Out]{}
		l.next++
	}
}

// close ends the line: what is still running is pending for good.
func (l *line[In, Out]) close(conclude func(Result[In, Out]) Result[In, Out]) {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock() // no result is placed after this
	for i, res := range l.running {
		l.running[i] = conclude(res)
	}
	for i := range l.slots {
		if s := &l.slots[i]; s.state == running {
			s.res = conclude(s.res)
		}
	}
}

// rest yields the remaining results of a closed line, including those of abandoned items.
func (l *line[In, Out]) rest(yield func(Result[In, Out]) bool) bool {
	left := slices.Collect(maps.Values(l.running))
	for i := range l.slots {
		if l.slots[i].state != vacant {
			left = append(left, l.slots[i].res)
		}
	}
	slices.SortFunc(left, func(a, b Result[In, Out]) int { return cmp.Compare(a.Index, b.Index) })
	for _, res := range left {
		if !yield(res) {
			return false
		}
	}
	return true
}

// enter puts one into places, which is bounded; false if ctx ended before
// there was room.
func enter(ctx context.Context, places chan<- struct{}) bool {
	select {
	case places <- struct{}{}: // cheaper than to look at two channels
		return true
	default:
	}
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}
