package inflight

import (
	"context"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// Lane makes calls for one goroutine, one after the other and all under the
// same context. Admit and End are those of a guard.Call. A call allocates next to nothing
// unless its context is kept for longer.
type Lane interface {
	// Begin starts the next call, at this cost. The context has not ended.
	Begin(c throttle.Cost)
	Admit(ctx context.Context) (context.Context, error)
	// Done ends a call that returned without an error, if that is all there is to
	// say. Otherwise it reports false, and End must be called.
	Done() bool
	End(f adaptive.Feedback) (again bool, err error)
}

//nolint:gochecknoglobals // package guard registers it, which is above this one
var lane func(ctx context.Context, guard any) Lane

// OnLane registers what NewLane does. Package guard calls it.
func OnLane(f func(ctx context.Context, guard any) Lane) { lane = f }

// NewLane returns a lane for calls on a *guard.Guard under ctx.
func NewLane(ctx context.Context, guard any) Lane { return lane(ctx, guard) }

// Facts are what is known of every attempt. They must not be asked for after it.
type Facts interface {
	Number() int
	Timeout() time.Duration
}

// FactsOf returns the Facts of the innermost attempt in ctx. If ctx is what the
// guard gave, its record stays free to be used again, unlike after Of.
func FactsOf(ctx context.Context) Facts {
	if f, ok := ctx.(Facts); ok {
		return f
	}
	return Of(ctx)
}
