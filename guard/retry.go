package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// repeats reports whether the call makes another attempt after err, and
// prepares for it. f is nil if the attempt was not begun.
func (c *Call) repeats(ctx context.Context, f *adaptive.Feedback, err error) bool {
	if err == nil {
		return false
	}
	policy := cmp.Or(inherited(c.guard, func(p *Policy) *retry.Policy { return p.Retry }), c.retry)
	open := openIn(err)
	switch {
	case policy == nil, c.once, f == nil && open == nil:
		return false
	case final(err), tooLate(ctx, err):
		return false
	case f != nil && f.Final:
		return false
	case policy.Retryable == nil && open == nil && f.Verdict == adaptive.OK: // an answer, such as a 400
		return false
	}
	if f == nil && c.awaits(ctx, policy, open, err) {
		return true
	}
	if c.schedule == nil {
		c.schedule = policy.Start()
		for range c.skip {
			_, _ = c.schedule.Next(err)
		}
	}
	delay, again := c.schedule.Next(err)
	if !again {
		return false
	}
	if open != nil {
		delay += open.RetryAfter // those that waited for the probe do not all become it
	}
	if f != nil {
		delay = max(delay, min(f.RetryAfter, longestPause))
	}
	if end, has := intake.Deadline(ctx); c.impatient && has && delay >= time.Until(end) {
		return false
	}
	spent := c.waited() + delay
	if most := c.guard.maxWait(); most > 0 && spent >= most && !c.patient {
		return false // as with a deadline, the failure is the error of the call
	}
	c.delay, c.failed = delay, err
	c.wait = waiting{spent: spent} // it queues anew
	if w := inflight.WatcherOf(ctx); w != nil {
		w.Retries(int(c.number), delay, err)
	}
	return true
}

// awaits reports whether the call waits until other calls have probed the breaker that rejects it, and prepares for that.
// It uses up no attempt: the provider may work again, and a probe takes as long as a call.
func (c *Call) awaits(ctx context.Context, policy *retry.Policy, open *breaker.OpenError, err error) bool {
	delay, again := policy.Start().Next(err)
	if c.probe == nil || c.single || !again || c.probeTime() <= 0 {
		c.probe = nil
		return false
	}
	c.delay, c.failed = delay, err // those that wait together do not run together
	c.wait = waiting{spent: c.waited()}
	if w := inflight.WatcherOf(ctx); w != nil {
		w.Retries(int(c.number), open.RetryAfter, err)
	}
	return true
}

// probeTime is how much longer the call waits for the probes of others.
func (c *Call) probeTime() time.Duration {
	left := defaultMaxWait - c.probed
	if most := c.guard.maxWait(); most > 0 && !c.patient {
		left = min(left, most-c.waited())
	}
	return left
}

// waited is how long the call has waited by now, as far as MaxWait bounds it.
func (c *Call) waited() time.Duration { return c.wait.spent + c.wait.until - c.wait.asked }

// longestPause is the longest wait before a retry that a failure may ask for, unless it is a rate limit.
const longestPause = time.Minute

// openIn returns the error of an open breaker in err, or nil.
func openIn(err error) (open *breaker.OpenError) {
	defer func() { _ = recover() }() // the methods of err are user code
	open, _ = errors.AsType[*breaker.OpenError](err)
	return open
}

// final reports whether err is one that no policy is asked about: another
// attempt would find the same.
func final(err error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	return errors.As(err, new(*fault.PanicError)) || errors.As(err, new(*fault.HungError)) ||
		adaptive.Refused(err) || errors.Is(err, throttle.ErrCost)
}

// tooLate reports whether err says that the call can only be admitted when ctx is over.
func tooLate(ctx context.Context, err error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	late, ok := errors.AsType[*throttle.DeadlineError](err)
	end, has := intake.Deadline(ctx)
	return ok && has && time.Now().Add(late.Wait).After(end)
}

// rest waits for the delay before another attempt. Nothing is held meanwhile.
func (c *Call) rest(ctx context.Context) error {
	if c.probe != nil && intake.Ended(ctx) == nil {
		c.outlast(ctx)
	}
	if d := c.delay; d > 0 && intake.Ended(ctx) == nil {
		c.sleep(ctx, d, nil)
	}
	c.delay, c.probe = 0, nil
	w := inflight.WatcherOf(ctx)
	if ended := intake.Ended(ctx); ended != nil || w != nil && !w.Rested(ctx) {
		if ended == nil {
			ended = context.Cause(ctx)
		}
		return fmt.Errorf("%w before another attempt after: %w", ended, c.failed)
	}
	return nil
}

// outlast waits for the probe of another call.
func (c *Call) outlast(ctx context.Context) {
	began := c.guard.clock.Elapsed()
	c.sleep(ctx, c.probeTime(), c.probe)
	took := c.guard.clock.Elapsed() - began
	c.delay = min(c.delay, max(0, c.probeTime()-took))
	c.probed += took + c.delay
	c.wait.spent += took + c.delay
}

// sleep waits for d, until over is closed, unless it is nil, or until nothing new may begin under ctx.
func (c *Call) sleep(ctx context.Context, d time.Duration, over <-chan struct{}) {
	waiting, done := intake.Waiting(ctx)
	defer done()
	woken := make(chan struct{})
	timer := c.guard.clock.AfterFunc(d, func() { close(woken) })
	defer timer.Stop()
	select {
	case <-woken:
	case <-over:
	case <-waiting.Done():
	}
}
