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

// opener makes the source of a run.
type opener[In any] func(f feed[In]) source[In]

// feed is what a source needs of its run.
type feed[In any] struct {
	begin   func(*item[In]) // completes an item, before a worker gets it
	room    roomy           // to take before an item is read; may be nil
	intake  context.Context //nolint:containedctx // no item is read after its end
	may     func() bool     // whether another item may be read
	workers int             // that take at the same time, at most
	reading func()          // keeps the run open until read is called
	read    func()
}

// source gives the workers their items. Indexes are assigned, and the outlet of the run is notified, in input order.
type source[In any] interface {
	// take fills in it, which is zero. It returns false at the end of the input,
	// and when nothing more may be read; a panic of the input's code is the error.
	take(it *item[In]) (ok bool, err error)
	// stop returns the panic of a source's code that was ended early.
	stop() error
	// exhausted reports whether all of the input was taken.
	exhausted() bool
}

// listed opens items that are all there.
func listed[In any](items []In) opener[In] {
	return func(f feed[In]) source[In] { return &list[In]{feed: f, items: items} }
}

// list is a source of items that are all there.
type list[In any] struct {
	feed[In]

	mu    sync.Mutex // guards items, index
	items []In       // those that are left
	index int64
}

func (l *list[In]) take(it *item[In]) (ok bool, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.items) == 0 || !l.may() {
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
