package guard

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// Call is Do in two steps, for calls that do not end when a function returns:
//
//	call := g.Begin(cost)
//	for again := true; again; {
//		if attempt, err = call.Admit(ctx); err != nil {
//			return err
//		}
//		again, err = call.End(send(attempt)) // or later, from another goroutine
//	}
//
// Admit must not be called concurrently. If End is called several times, the
// first call counts.
type Call struct {
	guard  *Guard
	cost   throttle.Cost
	wait   waiting
	live   atomic.Pointer[attempt] // of Admit and End; nil: no attempt is in progress
	first  attempt                 // most calls make one; without a call: it is not in use
	number int32                   // attempts, those after a 429 not counted

	loose     *looseCall    // the call, if its first attempt was made without admission
	retry     *retry.Policy // if the guard has none
	schedule  *retry.Schedule
	delay     time.Duration   // before the next attempt
	probe     <-chan struct{} // what it waits for before that: other calls probe a breaker; nil: nothing
	probed    time.Duration   // waited for such probes
	failed    error           // the attempt before it
	once      bool            // it makes one attempt, and waits for nothing
	impatient bool            // a deadline before the next attempt ends the call at once
	request   bool            // it is one of a transport: no guard inside of it is meant instead
	patient   bool            // MaxWait does not bound it
	single    bool            // whether and when there is another attempt is left to the caller
	skip      int             // failures of earlier attempts, which the schedule has to count
}

// waiting is what a call remembers from one admission to the next.
type waiting struct {
	hit     *adaptive.RateLimitHit // the last rejection; nil before the first
	since   time.Duration          // the first rejection, by the guard's clock
	asked   time.Duration          // when the admission was first asked for, if MaxWait bounds it
	until   time.Duration          // when that wait ended
	spent   time.Duration          // waited for the attempts before
	places  []int64                // by layer, the number of the first admission; nil: a new place
	queued  time.Duration          // how long this attempt waited; negative: not measured
	watcher inflight.Watcher       // of the admission; may be nil

	hasAsked bool
	observed bool // an observer receives what changes by the call
}

var errNil = errors.New("guard: the guard is nil, as registry.Get returns for an unknown name: use registry.For, or check for nil")

var errNotEnded = errors.New("guard: Admit while an attempt is in progress: call End first")

// Begin starts a Call. It does not wait, and need not be ended before Admit.
func (g *Guard) Begin(c throttle.Cost) *Call { return &Call{guard: g, cost: c} }

// Admit waits until every limit admits the call or its next attempt, and
// returns the context of the attempt. Errors are those of Do. Policy.Timeout
// does not apply. Every successful Admit must be followed by End.
func (c *Call) Admit(ctx context.Context) (context.Context, error) {
	if c.live.Load() != nil {
		return nil, errNotEnded
	}
	if c.guard == nil {
		return nil, errNil
	}
	k, err := c.admit(ctx)
	if err != nil {
		return nil, err
	}
	c.live.Store(k)
	return k, nil
}

func (c *Call) admit(ctx context.Context) (*attempt, error) {
	for {
		if c.delay > 0 || c.failed != nil {
			if err := c.rest(ctx); err != nil {
				return nil, err
			}
		}
		k := &c.first
		if k.call != nil { // the context of an earlier attempt may still be looked at
			k = new(attempt)
		}
		k.Context, k.call = ctx, c //nolint:fatcontext // each attempt has its own
		err := c.begin(ctx, k)
		if err == nil {
			if c.wait.hit == nil {
				c.number++
			}
			c.failed, c.probed = nil, 0
			k.number, k.queued = c.number, c.wait.queued
			return k, nil
		}
		if before := c.failed; !c.repeats(ctx, nil, err) {
			if before != nil {
				err = fmt.Errorf("%w before another attempt after: %w", err, before)
			}
			return nil, err
		}
		if c.single {
			return nil, err
		}
	}
}

// End ends the attempt. It is judged by f or, without a Verdict, by the last
// Report or the detectors. If again is true, call Admit for the next attempt;
// otherwise err is what Do would return. Feedback.Final forbids another
// attempt.
func (c *Call) End(f adaptive.Feedback) (again bool, err error) {
	k := c.live.Swap(nil)
	if k == nil {
		return false, nil
	}
	return c.conclude(k, &f)
}

// ApplyMeters applies the quota that a response declares before the call ends, such
// as that of a long stream. If it returns true, leave Meters out of the
// Feedback of End.
func (c *Call) ApplyMeters(meters [throttle.Units]adaptive.Meter) (applied bool) {
	k := c.live.Load()
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	l := c.guard.learner
	p := k.of(l)
	if p == nil || p.handed != nil {
		return false
	}
	l.update(func(now time.Time) {
		sent, live := l.engine.Sent(p.permit)
		applied = live && l.governor.knows(&sent) && l.governor.meters(now, sent, meters)
	})
	return applied
}

//nolint:gochecknoinits // the doors reach it through package inflight
func init() {
	inflight.OnRequest(func(call, g any, cost throttle.Cost, policy any) {
		c := call.(*Call)                  //nolint:forcetypeassert // see there
		c.guard, c.cost = g.(*Guard), cost //nolint:forcetypeassert // see there
		c.impatient, c.request = true, true
		c.retry, _ = policy.(*retry.Policy)
	})
}
