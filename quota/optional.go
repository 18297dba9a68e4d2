package quota

import (
	"context"
	"iter"
	"time"

	"github.com/headrace/headrace/throttle"
)

// Inspector is implemented by stores that can show what they hold, for
// operators and their commands.
type Inspector interface {
	// Look returns what the store holds about key. A key that it does not know is
	// the zero State.
	Look(ctx context.Context, key string) (State, error)
	// Keys yields the keys that begin with prefix, each once, in no order. Keys
	// that come or go meanwhile may be missing. An error is the last value.
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Forget drops what the store holds about key: its history, its cooldown, and
	// its slots. The leases on these are lost.
	Forget(ctx context.Context, key string) error
}

// State is what a store holds about one key.
type State struct {
	Limits   throttle.Limits      // as last stated
	Uses     []throttle.WindowUse // in the order of the windows
	InFlight int                  // slots that are taken
	Cooldown time.Duration        // what is left of it
}

// Waker is implemented by stores that announce released slots, so that a
// waiting call need not poll.
type Waker interface {
	// Changed returns a channel that receives a value after a ticket on one of the
	// keys was ended, until ctx ends. Several ends may be one value. A lease that
	// lapses is not announced. Call it before the Take whose refusal is waited out,
	// or an end between the two is missed.
	Changed(ctx context.Context, keys ...string) (<-chan struct{}, error)
}
