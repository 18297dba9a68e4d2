package inflight

import "context"

// Line is a Watcher that decides the order in which calls ask a guard for
// admission. Its Admitted may receive no bound.
type Line interface {
	Watcher
	// Turn begins a wait for admission by the guard of that name. A call that is
	// ahead, because it holds something already or was rejected by the provider,
	// is not held back.
	Turn(guard string, ahead bool) Turn
}

// Turn is one wait of a call for admission. Its methods are called on the
// goroutine of the call, with no lock held.
type Turn interface {
	// Await blocks until the call may ask, and returns the context to wait for
	// admission under. With an error the turn is over.
	Await(ctx context.Context) (asking context.Context, err error)
	// Queued says that the call has its place in the queue of each limit.
	Queued()
	// Asked ends what Await began; with a nil error the call was admitted. If again
	// is true, another call goes first, and Await must be called again. Otherwise
	// the turn is over.
	Asked(err error) (again bool)
}
