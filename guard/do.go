package guard

import (
	"context"
	"sync/atomic"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// Do waits until every limit admits the call, runs f, and judges its error. After a
// rate-limit response it waits and runs f again, with its old place in the queue;
// other errors are retried by Policy.Retry. Calls nest: a Do on the same guard
// inside f uses the slot of the outer call.
//
// Do returns f's error or its own: *adaptive.RateLimitHit,
// adaptive.ErrQuotaExhausted, *throttle.DeadlineError, *throttle.LimitedError,
// *throttle.CostError, *breaker.OpenError, *fault.PanicError, *fault.HungError, the
// cause of ctx or that of Close. docs/guard.md says when each is returned.
func (g *Guard) Do(ctx context.Context, c throttle.Cost, f func(context.Context) error) error {
	if g == nil {
		return errNil
	}
	call, again, err := g.freely(ctx, c, f)
	if !again {
		return err
	}
	return call.do(ctx, f)
}

// do makes attempts for as long as the call goes on.
func (c *Call) do(ctx context.Context, f func(context.Context) error) error {
	for {
		k, err := c.admit(ctx)
		if err != nil {
			return err
		}
		again, err := c.run(k, f) //nolint:contextcheck // k is the context
		if !again {
			return err
		}
	}
}

// Try is Do with one attempt and without waiting. If the call is not admitted now, it returns a *throttle.LimitedError, with a
// RetryAfter for a Retry-After header, a *breaker.OpenError, adaptive.ErrQuotaExhausted or the cause of Close.
func (g *Guard) Try(ctx context.Context, c throttle.Cost, f func(context.Context) error) error {
	if g == nil {
		return errNil
	}
	call := g.Begin(c)
	call.once = true
	return call.do(ctx, f)
}

// Get is Do for a function that returns a value.
func Get[T any](ctx context.Context, g *Guard, c throttle.Cost, f func(context.Context) (T, error)) (v T, err error) {
	var last atomic.Pointer[T] // a function that was abandoned may return at any time
	err = g.Do(ctx, c, func(ctx context.Context) error {
		v, err := f(ctx)
		last.Store(&v)
		return err
	})
	if of := last.Load(); of != nil {
		v = *of
	}
	return v, err
}

// run makes one attempt with f.
func (c *Call) run(k *attempt, f func(context.Context) error) (again bool, err error) {
	returned := false
	defer func() {
		if !returned { // runtime.Goexit
			c.abandon(k, nil)
		}
	}()
	d := c.guard.timeout()
	if d == 0 && c.single {
		d = longestAttempt
	}
	if d > 0 {
		err = c.supervise(k, f, d)
	} else {
		err = survived(k, f)
	}
	returned = true
	return c.conclude(k, &adaptive.Feedback{Err: err})
}
