package retry

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Schedule counts the attempts of one item and says when the next one is due.
// Every item has its own. It belongs to the goroutine that works on the item
// and is not safe for concurrent use.
type Schedule struct {
	policy   Policy // defaults filled in
	delays   backoff.ExponentialBackOff
	attempts int
}

// Start returns the schedule of one new item. A policy that [Policy.Validate]
// refuses gives a schedule that never retries.
func (p Policy) Start() *Schedule {
	if p.Validate() != nil {
		return &Schedule{policy: Policy{MaxAttempts: 1}}
	}
	p = p.withDefaults()
	return &Schedule{
		policy: p,
		delays: backoff.ExponentialBackOff{
			InitialInterval:     p.Initial,
			MaxInterval:         p.Max,
			Multiplier:          p.Multiplier,
			RandomizationFactor: p.Jitter,
		},
	}
}

// Next counts an attempt that ended with err, nil included, and reports
// whether another one should be made and after what delay. It is no if err is
// not worth it (see [Policy.Retries]) or the attempts are used up; the delay
// is then 0.
//
// An attempt that should not count, such as one that the provider refused for
// rate, is not passed to Next.
func (s *Schedule) Next(err error) (delay time.Duration, again bool) {
	s.attempts++
	if s.attempts >= s.policy.MaxAttempts || !s.policy.Retries(err) {
		return 0, false
	}
	return mirror(s.delays.NextBackOff(), s.policy.Max), true
}

// Attempts returns how many attempts were passed to [Schedule.Next].
func (s *Schedule) Attempts() int { return s.attempts }

// mirror folds what exceeds limit back below it. The backoff limits the middle
// of the range it draws from and not the draw, whereas Policy.Max is a promise.
// Mirrored draws stay inside of their range: with the middle d <= limit and the
// half width w, 2*limit-(d+w) >= d-w. A negative draw is one that overflowed.
func mirror(draw, limit time.Duration) time.Duration {
	if draw < 0 {
		return limit
	}
	if draw > limit {
		return max(0, limit-(draw-limit)) // rounding can put a draw 1 ns beyond twice the limit
	}
	return draw
}
