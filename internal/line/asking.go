package line

import (
	"context"
	"sync/atomic"
)

// asking is the context that a call waits for admission under. It ends with the
// one that it is made of, or by end. Most calls do not have to wait, so what ends
// it is only made when it is needed.
type asking struct {
	context.Context //nolint:containedctx // it is a context

	ending atomic.Pointer[ending] // nil: it was not needed
}

// ending is a context with what ends it.
type ending struct {
	context.Context //nolint:containedctx // it is a context

	cancel context.CancelCauseFunc
}

// end ends it; a nil error says that it is not needed any more.
func (a *asking) end(err error) {
	if err != nil {
		a.made().cancel(err)
	} else if made := a.ending.Load(); made != nil {
		made.cancel(nil)
	}
}

// made returns what ends it, and makes it first if necessary.
func (a *asking) made() *ending {
	for {
		if made := a.ending.Load(); made != nil {
			return made
		}
		ctx, cancel := context.WithCancelCause(a.Context)
		if !a.ending.CompareAndSwap(nil, &ending{ctx, cancel}) {
			cancel(nil) // another one was made meanwhile
		}
	}
}

// current is the context as it is now.
func (a *asking) current() context.Context {
	if made := a.ending.Load(); made != nil {
		return made
	}
	return a.Context
}

// Done implements context.Context.
func (a *asking) Done() <-chan struct{} { return a.made().Done() }

// Err implements context.Context.
func (a *asking) Err() error { return a.current().Err() }

// Value implements context.Context.
func (a *asking) Value(key any) any { return a.current().Value(key) }
