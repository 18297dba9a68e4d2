package line

import (
	"cmp"
	"container/heap"
)

// Priority is the class of a call.
type Priority uint8

// Interactive calls go before Batch calls.
const (
	Interactive Priority = iota
	Batch

	classes = 2
)

// batchPart is the least part of admissions that is for Batch while both
// classes wait: one in that many, so that it is at least 5 % of any count.
const batchPart = 19

// order is the order of those that wait. Within a class it is self-clocked fair
// queueing (Golestani, 1994): the next item of a client is due its share after
// the item before it or, if there was none, after the item that was admitted
// last. So a client that was away has no credit, nothing needs to be known of
// clients that do not wait, and clients that come anew cannot starve the others.
// The zero order is empty.
type order struct {
	classes [classes]class
	passed  int // interactive items admitted since the last one of Batch, while that waits
	arrived int64
}

// class is a heap of the clients that wait in it.
type class struct {
	flows   []*flow
	len     int     // items
	virtual float64 // when the last item that was admitted was due
}

// flow is what waits of one client in one class. The zero flow is empty.
type flow struct {
	first, last *item
	start       float64 // when the item before the first one was due
	due         float64 // when the first one is
	at          int     // in the heap
}

// item is a place in the order.
type item struct {
	turn       *turn
	flow       *flow // nil: it is not in an order
	prev, next *item
	priority   Priority
	share      float64 // 1 / weight
	arrival    int64
}

func (c *class) Len() int { return len(c.flows) }
func (c *class) Swap(i, j int) {
	c.flows[i], c.flows[j] = c.flows[j], c.flows[i]
	c.flows[i].at, c.flows[j].at = i, j
}

func (c *class) Less(i, j int) bool {
	a, b := c.flows[i], c.flows[j]
	return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.first.arrival, b.first.arrival)) < 0
}

// Push implements heap.Interface.
func (c *class) Push(f any) {
	c.flows = append(c.flows, f.(*flow)) //nolint:forcetypeassert // it is one
	c.flows[len(c.flows)-1].at = len(c.flows) - 1
}

// Pop implements heap.Interface.
func (c *class) Pop() any {
	n := len(c.flows) - 1
	f := c.flows[n]
	c.flows[n] = nil
	c.flows = c.flows[:n]
	return f
}

// len is how many items wait.
func (o *order) len() int { return o.classes[Interactive].len + o.classes[Batch].len }

// head is the next item, or nil.
func (o *order) head() *item {
	c := &o.classes[Interactive]
	if b := &o.classes[Batch]; b.len > 0 && (c.len == 0 || o.passed >= batchPart-1) {
		c = b
	}
	if c.len == 0 {
		return nil
	}
	return c.flows[0].first
}

// add puts it behind all others of f, which are of the same priority.
func (o *order) add(f *flow, it *item) {
	c := &o.classes[it.priority]
	o.arrived++
	it.arrival, it.flow, it.prev = o.arrived, f, f.last
	c.len++
	if f.last != nil {
		f.last.next, f.last = it, it
		return
	}
	f.first, f.last = it, it
	f.start = c.virtual
	f.due = f.start + it.share
	heap.Push(c, f)
}

// admit takes it out and charges its client.
func (o *order) admit(it *item) {
	f, c := it.flow, &o.classes[it.priority]
	if it == f.first {
		f.start = f.due
		c.virtual = max(c.virtual, f.due)
	} else {
		f.start += it.share
	}
	if it.priority == Batch {
		o.passed = 0
	} else {
		o.passed++
	}
	o.remove(it)
}

// remove takes it out.
func (o *order) remove(it *item) {
	f, c := it.flow, &o.classes[it.priority]
	if it.prev != nil {
		it.prev.next = it.next
	} else {
		f.first = it.next
	}
	if it.next != nil {
		it.next.prev = it.prev
	} else {
		f.last = it.prev
	}
	it.flow, it.prev, it.next = nil, nil, nil
	c.len--
	if f.first == nil {
		heap.Remove(c, f.at)
	} else {
		f.due = f.start + f.first.share
		heap.Fix(c, f.at)
	}
	if c.len == 0 {
		c.virtual = 0
	}
	if o.classes[Batch].len == 0 {
		o.passed = 0
	}
}
