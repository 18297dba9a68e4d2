package reopening

import "time"

// The pauses between two looks at a key that is closed.
const (
	firstLook = time.Minute
	lastLook  = time.Hour
)

// Closure is how a key is found open again whose quota is used up, whose provider
// asks for so long a wait that it may be an error, or refuses all calls. After a minute, or
// sooner if the wait is over, one call looks, and all others wait for its
// outcome. Each look that is refused doubles the pause, up to an hour. The zero
// Closure is open.
type Closure struct {
	pause time.Duration // the last one; 0: open
	look  int64         // the call that looks; 0: none is out
	until time.Time     // when the next look is due
	over  time.Time     // when the wait that was asked for is over

	doubts bool      // a look has found the key open before that
	since  time.Time // the first refusal after a call got through; zero: none
}

// Refused notes that the call seq, 0 if it has no number, was told that nothing
// is admitted for as long as asked; 0: the answer does not say. Until
// the first look is due, other calls that were in flight are told the same, and
// change nothing.
func (c *Closure) Refused(now time.Time, seq int64, asked time.Duration) {
	c.refused(now)
	if c.pause > 0 && (c.look == 0 || seq != c.look) && now.Before(c.until) {
		return
	}
	c.pause, c.look = min(max(firstLook, 2*c.pause), lastLook), 0
	c.until, c.over = now.Add(c.pause), now.Add(asked)
	if asked > 0 && asked < c.pause {
		c.until = c.over
	}
}

// Doubts reports whether a long wait that was just asked for should not close
// the key: the one before was not true. It is believed again when nothing has
// got through for a minute.
func (c *Closure) Doubts(now time.Time) bool {
	c.doubts = c.doubts && c.Silent(now) < firstLook
	return c.doubts
}

// Silent returns for how long calls have been refused without one that got through.
func (c *Closure) Silent(now time.Time) time.Duration {
	if c.since.IsZero() {
		return 0
	}
	return now.Sub(c.since)
}

func (c *Closure) refused(now time.Time) {
	if c.since.IsZero() {
		c.since = now
	}
}

// Until is when the next look is due, or was.
func (c *Closure) Until() time.Time { return c.until }

// Known reports whether the closure is still worth knowing: one at which no call
// has looked for an hour after that was due may be forgotten.
func (c *Closure) Known(now time.Time) bool { return c.pause > 0 && now.Before(c.until.Add(lastLook)) }

// Looking reports whether a call has left to look.
func (c *Closure) Looking() bool { return c.look != 0 }

// Closed reports whether no call has found the key open yet.
func (c *Closure) Closed() bool { return c.pause > 0 }

// Sent notes that a call left: the first looks.
func (c *Closure) Sent(seq int64) {
	if c.pause > 0 && c.look == 0 {
		c.look = seq
	}
}

// Passed notes that the call seq got through.
func (c *Closure) Passed(now time.Time, seq int64) {
	c.since = time.Time{}
	if c.looked(seq) {
		c.pause, c.doubts = 0, now.Before(c.over)
	}
}

// Answered notes that the call seq was refused, but only for a while.
func (c *Closure) Answered(now time.Time, seq int64) {
	c.refused(now)
	if c.looked(seq) {
		c.pause = 0
	}
}

// Lost notes that the call seq has told nothing: another call looks.
func (c *Closure) Lost(seq int64) { c.looked(seq) }

// looked ends the look of the call seq, if it is the one that looks.
func (c *Closure) looked(seq int64) bool {
	if c.look == 0 || seq != c.look {
		return false
	}
	c.look = 0
	return true
}
