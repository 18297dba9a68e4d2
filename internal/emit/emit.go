// Package emit sends events to observers. Packages of headrace use it instead of
// calling Observe, because it accepts a nil observer and recovers the panics of
// observers. A sender must not hold a lock that an observer could need.
package emit

import (
	"context"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/tee"
)

// Send sends e to o. A nil o discards it.
func Send(o event.Observer, e event.Event) {
	if o == nil {
		return
	}
	defer func() { _ = recover() }() // an observer must not stop the work
	o.Observe(e)
}

// Tell sends e to o, and calls Note with ctx on those observers of o that are
// an event.Tracer.
func Tell(ctx context.Context, o event.Observer, e event.Event) {
	Send(o, e)
	if all, ok := o.(several); ok {
		for _, o := range all.Observers(tee.Key{}) {
			note(ctx, o, e)
		}
		return
	}
	note(ctx, o, e)
}

// several is an observer made by event.Tee. The observers that it lists are
// not themselves of this kind.
type several interface {
	Observers(tee.Key) []event.Observer
}

func note(ctx context.Context, o event.Observer, e event.Event) {
	if t, ok := o.(event.Tracer); ok {
		defer func() { _ = recover() }() // an observer must not stop the work
		t.Note(ctx, e)
	}
}
