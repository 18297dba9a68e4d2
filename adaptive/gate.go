package adaptive

import "time"

// boundGate is the View.Bound of a shut gate.
const boundGate = "the gate after a refusal"

// reopening is the gate that a refusal shuts for everybody on the key, and how
// it opens: over one round trip, a call at a time, because all who wait
// would otherwise arrive as the next burst.
type reopening struct {
	at        time.Time     // when it opens
	next      time.Time     // when the next call may go, while it opens
	roundTrip time.Duration // smoothed, of successful calls only: a refusal is fast for its own reasons
	guess     time.Duration // stands for the round trip until one is known
}

// longestGuess is how long the gate takes to open, at most, on a key where no
// call has succeeded yet.
const longestGuess = time.Second

// closeUntil only ever moves the gate back.
func (r *reopening) closeUntil(now, t time.Time) {
	if t.After(r.at) {
		r.at = t
		r.guess = min(t.Sub(now), longestGuess)
	}
}

// span is how long the gate takes to open.
func (r *reopening) span() time.Duration {
	if r.roundTrip > 0 {
		return r.roundTrip
	}
	return r.guess
}

func (r *reopening) shut(now time.Time) time.Duration { return max(0, r.at.Sub(now)) }

func (r *reopening) opening(now time.Time) bool {
	return !r.at.IsZero() && now.Before(r.at.Add(r.span()))
}

func (r *reopening) pace(now time.Time) time.Duration {
	if !r.opening(now) {
		return 0
	}
	return max(0, r.next.Sub(now))
}

func (r *reopening) sent(now time.Time, window float64) {
	if r.opening(now) {
		r.next = now.Add(time.Duration(float64(r.span()) / window))
	}
}

// answered smooths with the gain of 1/8 that TCP uses for its round trip (RFC 6298).
func (r *reopening) answered(took time.Duration) {
	switch {
	case took <= 0:
	case r.roundTrip == 0:
		r.roundTrip = took
	default:
		r.roundTrip += (took - r.roundTrip) / 8
	}
}
