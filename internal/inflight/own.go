package inflight

import (
	"context"
	"time"

	"github.com/headrace/headrace/throttle"
)

// Own is a call that brings the context of its first attempt, for a guard without
// limits. Its Watcher receives nothing about that attempt if it returns no error
// and no call inside has looked it up.
type Own interface {
	context.Context
	// Begin begins the call. If it is free the first attempt begins as well, and the
	// context, until now that of the call, is that of the attempt from then on. With
	// an error the call is over.
	Begin(free bool) error
	// Call makes an attempt: the first one under the context itself.
	Call(ctx context.Context) error
	// Leave ends the first attempt, which returned err. The result is what Loosely
	// made of it, or nil if err is nil and no call inside has looked it up. It must
	// not be looked up after Leave.
	Leave(err error) Attempt
	// Began is when the first attempt did.
	Began() time.Time
	// Around is the context of the call.
	Around() context.Context
}

//nolint:gochecknoglobals // package guard registers them, which is above this one
var (
	do      func(guard any, o Own, c throttle.Cost) error
	loosely func(ctx context.Context, guard any, c throttle.Cost, over bool) Attempt
	free    func(guard any) bool
)

// OnOwn registers what Do, Loosely and Free do. Package guard calls it.
func OnOwn(
	d func(guard any, o Own, c throttle.Cost) error, l func(ctx context.Context, guard any, c throttle.Cost, over bool) Attempt,
	f func(guard any) bool,
) {
	do, loosely, free = d, l, f
}

// Do is the Do of a *guard.Guard for o.
func Do(guard any, o Own, c throttle.Cost) error { return do(guard, o, c) }

// Free reports whether calls on a *guard.Guard need no admission for now.
func Free(guard any) bool { return free(guard) }

// Loosely returns the first attempt of a call on a *guard.Guard that was not
// admitted, inside of ctx; over if it has ended by now.
func Loosely(ctx context.Context, guard any, c throttle.Cost, over bool) Attempt {
	return loosely(ctx, guard, c, over)
}
