package node

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// attempter makes the attempts at an item. It is no function alone, which a
// pool would have made anew for each item.
type attempter struct {
	// f gets the number of the attempt, not counting those that a breaker refused, and its ticket.
	f func(ctx context.Context, n int, t breaker.Ticket) error
	n int // attempts so far
}

func (a *attempter) attempt(ctx context.Context, n int, t breaker.Ticket) error {
	a.n = n
	return a.f(ctx, n, t)
}

// attempts runs a through the limiter until it succeeds or the retry policy,
// which counts for this item alone, has no more. Between two attempts nothing
// is held, and no second one begins once the intake has ended.
func (s *settings) attempts(
	ctx context.Context, index int64, c throttle.Cost, a *attempter,
) error {
	var schedule *retry.Schedule
	var last error
	for a.n = 0; ; {
		if last != nil {
			if stopped := ended(ctx); stopped != nil {
				return fmt.Errorf("%w before another attempt after: %w", stopped, last)
			}
		}
		last = s.once(ctx, c, a, a.n+1)
		if last == nil || s.policy == nil || final(last) || tooLate(ctx, last) || s.answered(last) {
			return last
		}
		if schedule == nil {
			schedule = s.policy.Start()
		}
		delay, again := schedule.Next(last)
		if !again {
			return last
		}
		if open := openIn(last); open != nil {
			delay += open.RetryAfter // those who waited for the probe do not all become it
		}
		if o := event.From(ctx); o != nil && ended(ctx) == nil {
			e := event.New(time.Now(), event.ItemRetry, s.name)
			e.Index, e.Attempt, e.Wait, e.Err = index, a.n, delay, last
			emit.Tell(ctx, o, e)
		}
		sleep(ctx, delay)
	}
}

// answered reports whether err is an answer to the call, such as a 400 or a
// refusal that is final, that another attempt would get again. A Retryable of
// the policy's own knows better.
func (s *settings) answered(err error) bool {
	if s.policy.Retryable != nil || openIn(err) != nil {
		return false
	}
	f := adaptive.Classify(s.config.Detector, err)
	return f.Verdict == adaptive.OK || f.Final
}

// ended returns why nothing new may begin under ctx, or nil.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if in, ok := intake.Of(ctx); ok && in.Err() != nil {
		return context.Cause(in)
	}
	return nil
}

// sleep waits for d, or until nothing new may begin under ctx.
func sleep(ctx context.Context, d time.Duration) {
	in, _ := intake.Of(ctx)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-in.Done():
	}
}
