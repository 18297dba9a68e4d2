package retry

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Schedule counts the attempts of one item. It is not safe for concurrent use.
type Schedule struct {
	policy   Policy // defaults filled in
	delays   backoff.ExponentialBackOff
	attempts int
}

// Start returns the schedule of one item. If p is invalid, it never retries.
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

// Next counts an attempt that ended with err, which may be nil, and reports whether to
// make another one, and after what delay.
func (s *Schedule) Next(err error) (delay time.Duration, again bool) {
	s.attempts++
	if s.attempts >= s.policy.MaxAttempts || !s.policy.Retries(err) {
		return 0, false
	}
	return mirror(s.delays.NextBackOff(), s.policy.Max), true
}

// Attempts returns the number of calls of Next.
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
