package inflight

import (
	"context"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// Lane makes calls for one goroutine, one after the other and all under the
// same context. Admit and End are those of a guard.Call. A call whose context
// nothing keeps for longer allocates next to nothing.
type Lane interface {
	// Begin starts the next call, at this cost.
	Begin(c throttle.Cost)
	Admit(ctx context.Context) (context.Context, error)
	End(f adaptive.Feedback) (again bool, err error)
}

//nolint:gochecknoglobals // package guard registers it, which is above this one
var lane func(ctx context.Context, guard any) Lane

// OnLane registers what NewLane does. Package guard calls it.
func OnLane(f func(ctx context.Context, guard any) Lane) { lane = f }

// NewLane returns a lane for calls on a *guard.Guard under ctx.
func NewLane(ctx context.Context, guard any) Lane { return lane(ctx, guard) }

// Facts are what is known of every attempt.
type Facts interface {
	Number() int
	Timeout() time.Duration
}

// FactsKey is the key of the Facts of the innermost attempt in a context.
type FactsKey struct{}

// FactsOf returns the Facts of the innermost attempt in ctx, which must be one.
// Unlike the result of Of they must not be used after the attempt.
func FactsOf(ctx context.Context) Facts { return ctx.Value(FactsKey{}).(Facts) } //nolint:forcetypeassert // see above

// Bare are the facts of an attempt that is nothing but a function call.
type Bare struct{}

// Number implements Facts.
func (Bare) Number() int { return 1 }

// Timeout implements Facts.
func (Bare) Timeout() time.Duration { return 0 }
