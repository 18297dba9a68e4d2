package quota

import (
	"context"
	"iter"
	"time"

	"github.com/headrace/headrace/throttle"
)

// Inspector is implemented by stores that can show what they hold, for operators.
type Inspector interface {
	// Look returns what the store holds about key; of an unknown key the zero State.
	Look(ctx context.Context, key string) (State, error)
	// Keys yields the keys that begin with prefix, each once, in no order. Concurrent changes may be
	// missed. An error is the last value.
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Forget deletes the history, cooldown and slots of key. Leases on these are lost: their slots on other keys
	// become free when they are next renewed or ended, or lapse.
	Forget(ctx context.Context, key string) error
}

// State is what a store holds about one key.
type State struct {
	Limits   throttle.Limits      // as last stated
	Uses     []throttle.WindowUse // in the order of the windows
	InFlight int                  // slots that are taken
	Cooldown time.Duration        // what is left of it
}

// Batcher is implemented by stores that make several equal calls for about the price of one.
type Batcher interface {
	// TakeBatch is a Take of r for each of n calls, at one instant. The grants of those that are admitted come first.
	// An error means that none was admitted. It is errors.ErrUnsupported for what has to be asked by Take: a Peek,
	// Request.Uses, or what the store does not take in batches.
	TakeBatch(ctx context.Context, r Request, n int) ([]Grant, error)
}

// Waker is implemented by stores that announce released slots, to avoid polling.
type Waker interface {
	// Changed returns a channel that receives a value after tickets on the keys were ended, until ctx
	// ends. Several ends may be one value; a lapsed lease is not announced. Call it before the Take that
	// it waits for.
	Changed(ctx context.Context, keys ...string) (<-chan struct{}, error)
}
