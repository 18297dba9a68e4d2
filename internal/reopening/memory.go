package reopening

import "time"

// Memory is the pause and the closing of a key at an instant, for a process that goes
// on from there. All times are durations from that instant. The zero Memory is of a key
// that is open.
type Memory struct {
	Gate  time.Duration `json:"gate,omitempty"`  // until calls are admitted again
	Asked time.Duration `json:"asked,omitempty"` // of it, how long the provider asked to wait

	Pause  time.Duration `json:"pause,omitempty"` // the last one between two looks; 0: the key is open
	Look   time.Duration `json:"look,omitempty"`  // until the next look is due
	Over   time.Duration `json:"over,omitempty"`  // until the long wait that was asked for is over
	Doubts bool          `json:"doubts,omitempty"`
	Since  time.Duration `json:"since,omitempty"` // since the first refusal after a call got through; 0: one did
	Last   time.Duration `json:"last,omitempty"`  // since the last refusal
}

// Memory returns what is known at now. A look that is out is not part of it: another
// call looks.
func (c *Closure) Memory(now time.Time) Memory {
	m := Memory{Doubts: c.doubts}
	if c.Closed() {
		m.Pause, m.Look, m.Over = c.pause, max(0, c.until.Sub(now)), max(0, c.over.Sub(now))
	}
	if !c.since.IsZero() {
		m.Since, m.Last = max(1, now.Sub(c.since)), max(0, now.Sub(c.last))
	}
	return m
}

// Closure returns the closure that goes on from m at now. Its times are within the
// bounds of what a closure asks for itself.
func (m Memory) Closure(now time.Time) Closure {
	c := Closure{doubts: m.Doubts}
	if m.Pause > 0 {
		c.pause, c.until = min(max(m.Pause, FirstLook), lastLook), now.Add(within(m.Look, lastLook))
		if m.Over > 0 {
			c.over = now.Add(within(m.Over, MostSaid))
		}
	}
	if m.Since > 0 {
		c.since, c.last = now.Add(-within(m.Since, MostSaid)), now.Add(-within(m.Last, MostSaid))
	}
	return c
}

// Paused returns until when m admits no call, and how long of it the provider asked for.
func (m Memory) Paused(now time.Time) (gate, asked time.Time) {
	return now.Add(within(m.Gate, lastLook)), now.Add(within(m.Asked, Longest))
}

// After is m when d has passed.
func (m Memory) After(d time.Duration) Memory {
	for _, left := range [...]*time.Duration{&m.Gate, &m.Asked, &m.Look, &m.Over} {
		*left = max(0, *left-d)
	}
	if m.Since > 0 {
		m.Since, m.Last = m.Since+d, m.Last+d
	}
	return m
}

func within(d, most time.Duration) time.Duration { return min(max(0, d), most) }
