// Package reopening is the pause after a rate-limit response, which holds for
// every caller of a key, and how it ends: over one round trip, a call at a
// time, since all that wait would otherwise arrive as the next burst. It is
// pure: the time is an argument.
package reopening

import "time"

// Bound is what binds while a gate is shut, in words.
const Bound = "the gate after a refusal"

// longestGuess is how long a gate takes to open, at most, on a key where no
// call has succeeded yet.
const longestGuess = time.Second

// Gate is shut until an instant, and then opens step by step. The zero Gate is open.
type Gate struct {
	at        time.Time     // when it opens
	next      time.Time     // when the next call may be sent, while it opens
	roundTrip time.Duration // smoothed, of successful calls only: rejected ones are fast for their own reasons
	guess     time.Duration // stands for the round trip until one is known
}

// Until returns a gate that is shut until t.
func Until(t time.Time) Gate { return Gate{at: t, guess: longestGuess} }

// At returns when the gate opens; a time in the past means that it is open.
func (g *Gate) At() time.Time { return g.at }

// CloseUntil shuts the gate until t, unless it is shut for longer.
func (g *Gate) CloseUntil(now, t time.Time) {
	if t.After(g.at) {
		g.at = t
		g.guess = min(t.Sub(now), longestGuess)
	}
}

// span is how long the gate takes to open.
func (g *Gate) span() time.Duration {
	if g.roundTrip > 0 {
		return g.roundTrip
	}
	return g.guess
}

// Shut returns how long the gate stays shut.
func (g *Gate) Shut(now time.Time) time.Duration {
	if g.at.IsZero() { // it was never shut
		return 0
	}
	return max(0, g.at.Sub(now))
}

// Opening reports whether calls are admitted one at a time, or not at all.
func (g *Gate) Opening(now time.Time) bool {
	return !g.at.IsZero() && now.Before(g.at.Add(g.span()))
}

// Pace returns how long the next call has to wait while the gate opens.
func (g *Gate) Pace(now time.Time) time.Duration {
	if !g.Opening(now) {
		return 0
	}
	return max(0, g.next.Sub(now))
}

// Sent notes an admission. window is how many calls may be in flight.
func (g *Gate) Sent(now time.Time, window float64) {
	if g.Opening(now) {
		g.next = now.Add(time.Duration(float64(g.span()) / window))
	}
}

// Answered smooths the round trip with the gain of 1/8 that TCP uses (RFC 6298).
func (g *Gate) Answered(took time.Duration) {
	switch {
	case took <= 0:
	case g.roundTrip == 0:
		g.roundTrip = took
	default:
		g.roundTrip += (took - g.roundTrip) / 8
	}
}
