package node

import (
	"context"
	"sync"
)

// item is one piece of work, taken from the input.
type item[In any] struct {
	index int64
	in    In
	entry *entry // nil without a journal
	err   error  // the input failed to produce it
}

// opener makes the source of a run. It calls begin with each item, in input order, before a worker gets the item, and begin
// completes it.
type opener[In any] func(begin func(*item[In])) source[In]

// source gives the workers their items. Indexes are assigned, and the outlet of the run is notified, in input order.
type source[In any] interface {
	// take fills in it, which is zero. It returns false at the end of the input,
	// and when ctx ends; a panic of the input's code is the error.
	take(ctx context.Context, it *item[In]) (ok bool, err error)
	// stop releases the source; a panic of its code is the error.
	stop() error
	// exhausted reports whether all of the input was taken.
	exhausted() bool
}

// listed opens items that are all there.
func listed[In any](items []In) opener[In] {
	return func(begin func(*item[In])) source[In] { return &list[In]{begin: begin, items: items} }
}

// list is a source of items that are all there.
type list[In any] struct {
	begin func(*item[In])

	mu    sync.Mutex // guards items, index
	items []In       // those that are left
	index int64
}

func (l *list[In]) take(ctx context.Context, it *item[In]) (ok bool, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.items) == 0 || ctx.Err() != nil {
		return false, nil
	}
	it.index, it.in = l.index, l.items[0]
	l.items = l.items[1:]
	l.index++
	l.begin(it)
	return true, nil
}

func (l *list[In]) stop() error { return nil }

func (l *list[In]) exhausted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.items) == 0
}
