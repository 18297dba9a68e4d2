package reopening

import (
	"fmt"
	"time"
)

// The pauses between two looks at a key that is closed.
const (
	FirstLook = time.Minute
	lastLook  = time.Hour
)

// Longest is the longest wait that a refusal can ask for without closing the key.
const Longest = 10 * time.Minute

// MostSaid is the longest wait that an error names, so that it fits an HTTP header: the
// provider may have asked for more.
const MostSaid = 24 * time.Hour

// MostAsked is the longest wait that is read from a response, 100 years: it can be added to the
// time without an overflow.
const MostAsked = 876_000 * time.Hour

// Asked returns a wait that a provider asks for as text, in whole seconds or days, rounded up. It names the bound of what
// was cut.
func Asked(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return d.String()
	case d <= 2*day:
		return (d + time.Second - 1).Truncate(time.Second).String()
	}
	text := fmt.Sprintf("%d days", (min(d, MostAsked)+day-1)/day)
	if d >= MostAsked {
		text += " or longer"
	}
	return text
}

// unseen is how long after the last refusal, or after a look was due, the next one says
// nothing about the time between them: no call was made.
const unseen = 15 * time.Minute

// Closure detects that a key is open again after its quota was used up, or after its provider
// asked for such a long wait that it may be an error, or refused all calls. After a minute, or
// sooner if the wait is over, one call looks, and all others wait for its
// outcome, but at most for a minute: then another call looks as well. Each look that
// is refused doubles the pause, up to an hour. The zero Closure is open.
type Closure struct {
	pause time.Duration // the last one; 0: open
	look  int64         // the first call that looks; 0: none is out
	until time.Time     // when the next look is due
	over  time.Time     // when the long wait that was asked for is over; zero: none was

	doubts bool      // a look has found the key open before that
	since  time.Time // the first refusal after a call got through; zero: none
	last   time.Time // the last refusal
}

// Verdict is what has become of a call.
type Verdict uint8

// The verdicts.
const (
	Lost      Verdict = iota // it tells nothing
	Passed                   // it got through
	Refused                  // it was refused, perhaps for a while
	Exhausted                // it was refused because the quota is used up
)

// News is what a call has changed.
type News struct {
	Closed, Reopened bool // the key
	Silent           bool // it stays or becomes closed because all calls are refused
	Doubts, Believes bool // long waits are believed no more, or again
}

// Heard notes what became of the call seq, 0 if it has no number. asked is how long a
// refusal asks to wait; 0 means that it does not say. A long wait closes the key, and so
// do refusals of all calls for patience, unless that is 0 or a long wait explains them. Heard
// returns asked, or 0 if that is not believed.
func (c *Closure) Heard(now time.Time, seq int64, v Verdict, asked, patience time.Duration) (believed time.Duration, n News) {
	closed, doubted := c.Closed(), c.doubts
	if v == Refused && asked > Longest {
		if c.doubts = c.Doubts(now); c.doubts {
			asked = 0
		}
	}
	n.Silent = v == Refused && patience > 0 && min(c.Silent(now), now.Sub(c.over)) >= patience
	switch {
	case v == Exhausted:
		c.Refused(now, seq, 0)
	case v == Refused && (asked > Longest || n.Silent):
		c.Refused(now, seq, asked)
	case v == Refused: // a rate limit is reported while there is quota left
		c.Answered(now, seq, asked)
	case v == Passed:
		c.Passed(now, seq)
	default:
		c.Lost(seq)
	}
	n.Closed, n.Reopened = !closed && c.Closed(), closed && !c.Closed()
	n.Doubts, n.Believes = !doubted && c.doubts, doubted && !c.doubts
	return asked, n
}

// Refused records that the response to call seq, 0 if it has no number, said that nothing
// is admitted for as long as asked; 0 if it does not say how long. Until
// the first look is due, and while it is out, other calls that were in flight get
// the same response, and change nothing.
func (c *Closure) Refused(now time.Time, seq int64, asked time.Duration) {
	c.refused(now)
	if c.pause > 0 && !c.looks(seq) && (c.look != 0 || now.Before(c.until)) {
		return
	}
	c.pause, c.look = min(max(FirstLook, 2*c.pause), lastLook), 0
	c.until, c.over = now.Add(c.pause), time.Time{}
	if asked > 0 && asked < c.pause {
		c.until = now.Add(asked)
	}
	if asked > Longest {
		c.over = now.Add(asked)
	}
}

// Doubts reports whether a long wait that was just asked for should not close
// the key: the one before was not true. It is believed again when nothing has
// got through for a minute.
func (c *Closure) Doubts(now time.Time) bool { return c.doubts && c.Silent(now) < FirstLook }

// Waits reports whether the long wait that was asked for is not over.
func (c *Closure) Waits(now time.Time) bool { return now.Before(c.over) }

// Silent returns for how long calls have been refused without one that got through.
func (c *Closure) Silent(now time.Time) time.Duration {
	if c.since.IsZero() || c.unseen(now) {
		return 0
	}
	return now.Sub(c.since)
}

func (c *Closure) unseen(now time.Time) bool {
	return now.Sub(c.last) > unseen && now.Sub(c.until) > unseen
}

func (c *Closure) refused(now time.Time) {
	if c.since.IsZero() || c.unseen(now) {
		c.since = now
	}
	c.last = now
}

// Until is when the next look is due, or was.
func (c *Closure) Until() time.Time { return c.until }

// Known reports whether the closure is still worth knowing: one at which no call
// has looked for an hour after that was due may be forgotten.
func (c *Closure) Known(now time.Time) bool { return c.pause > 0 && now.Before(c.until.Add(lastLook)) }

// Looking returns how long calls wait for the outcome of the look that is out.
func (c *Closure) Looking(now time.Time) time.Duration {
	if c.look == 0 {
		return 0
	}
	return max(0, c.until.Sub(now))
}

// Closed reports whether no call has found the key open yet.
func (c *Closure) Closed() bool { return c.pause > 0 }

// Sent notes that a call was sent: if the key is closed, it looks.
func (c *Closure) Sent(now time.Time, seq int64) {
	if c.pause == 0 {
		return
	}
	if c.look == 0 {
		c.look = seq
	}
	if c.unseen(now) {
		c.since = time.Time{}
	}
	c.until = now.Add(FirstLook)
}

// Passed notes that the call seq got through.
func (c *Closure) Passed(now time.Time, seq int64) {
	c.since = time.Time{}
	if c.looked(seq) {
		if !c.over.IsZero() {
			c.doubts = now.Before(c.over)
		}
		c.pause, c.over = 0, time.Time{}
	}
}

// Answered notes that the call seq was refused, but only for a while: it is asked
// to wait for so long.
func (c *Closure) Answered(now time.Time, seq int64, asked time.Duration) {
	c.refused(now)
	if c.looked(seq) {
		c.pause = 0
		if end := now.Add(asked); end.Before(c.over) {
			c.over = end
		}
	}
}

// Lost notes that the call seq has told nothing: another call looks.
func (c *Closure) Lost(seq int64) { c.looked(seq) }

// looked ends the look of the call seq, if it is one that looks.
func (c *Closure) looked(seq int64) bool {
	if !c.looks(seq) {
		return false
	}
	c.look = 0
	return true
}

// looks reports whether the call seq was sent while the key was closed.
func (c *Closure) looks(seq int64) bool { return c.look != 0 && seq >= c.look }
