package guard

import (
	"context"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/internal/clienttrace"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/throttle"
)

// attempt is one attempt of a call, from its admission to its end. It is the
// context that the call's function gets, so that what happens inside can find it.
type attempt struct {
	context.Context //nolint:containedctx // it is a context

	call   *Call
	queued time.Duration // how long it waited to be admitted; negative: not measured
	wire   wire
	hooks  *httptrace.ClientTrace // of CountWire; nil: it was not called
	loose  *throttle.Sent         // the call, if it was not admitted; nil: it was
	claims *claims                // what it holds in a store; nil: nothing
	number int32                  // of the attempt, from 1; a resend after a 429 keeps it

	over  bool               // it was ended or abandoned; guarded by mu
	held  atomic.Bool        // nothing else is admitted until it ends; set under mu, while it is not over
	mu    sync.Mutex         // guards everything below
	parts []part             // one for each layer
	only  [1]part            // parts, of a guard with one layer
	few   *fewLayers         // nil: there is one layer, or many
	used  throttle.Cost      // as reported; zero: not
	told  *adaptive.Feedback // the last Report; may be nil
}

// part is what an attempt holds of one layer.
type part struct {
	guard  *Guard
	permit throttle.Permit
	ticket breaker.Ticket // of the layer's breaker
	handed *throttle.Sent // notes on a permit that a call inside has taken over; nil if none has
	seq    int64          // the number of the admission, once it has ended
	outer  *attempt       // the attempt that held this permit before; nil: it was acquired
}

// Value makes the attempt findable by attemptOf and by package inflight.
func (k *attempt) Value(key any) any {
	switch {
	case key == inflight.Key{}:
		return k
	case inflight.Private(key):
		return nil
	case k.hooks != nil && clienttrace.Is(key):
		return k.hooks
	}
	return k.Context.Value(key)
}

func attemptOf(ctx context.Context) *attempt {
	k, _ := ctx.Value(inflight.Key{}).(*attempt)
	return k
}

// Number implements inflight.Attempt.
func (k *attempt) Number() int { return int(k.number) }

// Report judges the answer from inside the call: a verdict takes precedence
// over every detector; without one, Used, Meters and RetryAfter do. It takes
// effect when the attempt ends. The last Report counts, for the innermost call;
// outside of a call it does nothing.
func Report(ctx context.Context, f adaptive.Feedback) {
	if k := attemptOf(ctx); k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		if f.Used != (throttle.Cost{}) {
			k.used = f.Used
		}
		k.told = &f
	}
}

// Use reports the actual cost from inside the call. Limits are corrected when
// the call ends, by at most one window. The last Use counts; outside of a call
// it does nothing.
func Use(ctx context.Context, actual throttle.Cost) {
	if k := attemptOf(ctx); k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.used = actual
	}
}

// feedback is what the attempt itself has reported.
func (k *attempt) feedback() (f adaptive.Feedback) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.complete(&f)
	return f
}

// complete adds to f, with which the attempt ends, what was reported inside of
// it: its cost, and without a verdict in f whatever f does not say. mu is held.
func (k *attempt) complete(f *adaptive.Feedback) {
	if f.Used == (throttle.Cost{}) {
		f.Used = k.used
	}
	if f.Verdict != adaptive.Unclassified || k.told == nil {
		return
	}
	given := *f
	if *f = *k.told; f.Err == nil {
		f.Err = given.Err
	}
	f.Used, f.Final = given.Used, f.Final || given.Final
	if given.RetryAfter > 0 {
		f.RetryAfter = given.RetryAfter
	}
	if given.Meters != ([throttle.Units]adaptive.Meter{}) {
		f.Meters = given.Meters
	}
}

// close claims the end of the attempt; false if it has ended before. Nothing is
// handed over from then on. f is completed by what the attempt has reported.
func (k *attempt) close(f *adaptive.Feedback) (first bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if first = !k.over; first {
		k.over = true
		k.complete(f)
	}
	return first
}

// of is the part of layer l, or nil.
func (k *attempt) of(l *Guard) *part {
	for i := range k.parts {
		if k.parts[i].guard == l {
			return &k.parts[i]
		}
	}
	return nil
}
