package emit

import (
	"sync/atomic"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/tee"
)

// WantsCalls reports whether o has an event.CallObserver. Limiters ask before
// each call, and measure nothing without one.
func WantsCalls(o event.Observer) bool {
	if all, ok := o.(several); ok {
		for _, o := range all.Observers(tee.Key{}) {
			if _, ok := o.(event.CallObserver); ok {
				return true
			}
		}
		return false
	}
	_, ok := o.(event.CallObserver)
	return ok
}

// SendUncounted sends e to the observers of o that are not an
// event.CallObserver, which receive each call.
func SendUncounted(o event.Observer, e event.Event) {
	switch o := o.(type) {
	case several:
		for _, o := range o.Observers(tee.Key{}) {
			SendUncounted(o, e)
		}
	case event.CallObserver:
	default:
		Send(o, e)
	}
}

// SendCall sends c to each event.CallObserver of o.
func SendCall(o event.Observer, c event.Call) {
	switch o := o.(type) {
	case several:
		for _, o := range o.Observers(tee.Key{}) {
			SendCall(o, c)
		}
	case event.CallObserver:
		defer func() { _ = recover() }() // an observer must not stop the work
		o.ObserveCall(c)
	}
}

// itemCounter is an observer that counts the items which a node begins with: a
// number for each node, in place of an event for each item. ItemCounter is asked
// at the begin of each run, and may return nil.
type itemCounter interface {
	event.Observer
	ItemCounter(node string) *atomic.Int64
}

// ItemCounters returns the counters of all observers of o for the node of that
// name. The node adds 1 to each of them for every item that it begins.
func ItemCounters(o event.Observer, node string) (all []*atomic.Int64) {
	switch o := o.(type) {
	case several:
		for _, o := range o.Observers(tee.Key{}) {
			all = append(all, ItemCounters(o, node)...)
		}
	case itemCounter:
		defer func() { _ = recover() }() // an observer must not stop the work
		if n := o.ItemCounter(node); n != nil {
			all = append(all, n)
		}
	}
	return all
}
