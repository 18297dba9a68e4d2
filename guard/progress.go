package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// Progress is the state of a call between two attempts. It can be encoded as
// JSON, so that another process can make the next attempt. The zero Progress is
// that of a new call.
type Progress struct {
	// Attempts counts those made so far, without repetitions after a rate-limit response.
	Attempts int `json:"attempts,omitempty"`
	// Failures counts the failures that Policy.Retry has been asked about.
	Failures int `json:"failures,omitempty"`
	// Since is when the waiting began that MaxWait bounds, if the last attempt was rejected for rate.
	Since time.Time `json:"since,omitzero"`
	// Waited is the time that counts towards MaxWait, Delay included, if the last attempt failed, in nanoseconds.
	Waited time.Duration `json:"waited,omitempty"`
	// Delay is how long the next attempt has to wait, in nanoseconds.
	Delay time.Duration `json:"delay,omitempty"`
}

// Attempt is Do for one attempt, of a call that has come as far as p. If again is true, call Attempt
// with next when next.Delay has passed, in this process or another one; nothing is held meanwhile, and err is why.
// Otherwise err is what Do would return. Each attempt queues anew, and for at most 15 seconds. Without a
// Policy.Timeout it has a timeout of an hour.
func (g *Guard) Attempt(
	ctx context.Context, c throttle.Cost, p Progress, f func(context.Context) error,
) (next Progress, again bool, err error) {
	if g == nil {
		return p, false, errNil
	}
	call := g.Begin(c)
	call.single = true
	call.goOn(&p)
	around, _ := intake.Of(ctx)
	waiting, leave := context.WithCancelCause(around)
	defer leave(nil)
	began := g.clock.Elapsed()
	timer := g.clock.AfterFunc(longestAdmission, func() { leave(errCrowded) })
	k, err := call.admit(intake.With(ctx, waiting))
	timer.Stop()
	switch {
	case err == nil:
		again, err = call.run(k, f) //nolint:contextcheck // k is the context
		if again && err == nil {
			err = call.wait.hit
		}
	case call.failed != nil: // a circuit breaker is open, and the policy repeats that
		again = true
	case errors.Is(err, errCrowded):
		p.Delay = crowded
		if p.Since.IsZero() && g.maxWait() > 0 {
			p.Waited += g.clock.Elapsed() - began
		}
		return p, true, err
	}
	return call.progress(again, p.Failures), again, err
}

const (
	// longestAdmission is how long an Attempt waits in the queue. What calls it may have a slot that
	// another call can use.
	longestAdmission = 15 * time.Second
	// crowded is how long a call stays away that was not admitted by then.
	crowded = time.Second
	// longestAttempt is the timeout of an Attempt if the policy has none. An engine gives up an attempt at some time,
	// and repeats it; before that it has to end as a failure.
	longestAttempt = time.Hour
)

// mostFailures bounds the failures of a Progress, which are counted one by one: the number may be damaged.
const mostFailures = 1 << 20

var errCrowded = fmt.Errorf("guard: not admitted within %s", longestAdmission)

// goOn has the call begin where p ended.
func (c *Call) goOn(p *Progress) {
	c.number = int32(min(max(0, p.Attempts), 1<<30))
	c.skip = min(p.Failures, mostFailures)
	c.wait.spent = max(0, p.Waited)
	if p.Since.IsZero() {
		return
	}
	began := c.guard.clock.Elapsed() - max(0, c.guard.clock.Now().Sub(p.Since))
	c.wait.hit = &adaptive.RateLimitHit{Scope: c.guard.scope(), GivenUp: true}
	c.wait.since = began
	c.wait.hasAsked, c.wait.asked, c.wait.spent = c.guard.maxWait() > 0, began, 0
}

// progress is how far the call has come. failures are those of earlier attempts.
func (c *Call) progress(again bool, failures int) Progress {
	p := Progress{Attempts: int(c.number), Failures: failures}
	if c.schedule != nil {
		p.Failures = c.schedule.Attempts()
	}
	hit := c.wait.hit
	switch {
	case !again:
	case hit == nil:
		if p.Delay = c.delay; c.guard.maxWait() > 0 {
			p.Waited = c.wait.spent
		}
	default:
		began, now := c.wait.since, c.guard.clock.Now()
		if c.wait.hasAsked {
			began = c.wait.asked - c.wait.spent
		}
		p.Since = now.Add(began - c.guard.clock.Elapsed()).Round(0)
		p.Delay = hit.RetryAfter
		if l := c.guard.learner; l != nil {
			p.Delay = max(p.Delay, l.view().GateUntil.Sub(now))
		}
	}
	return p
}
