package learn

import "math"

// Turns learns when a provider's window turns if the provider does not say:
// doors open a minute apart, time and again.
type Turns struct {
	last float64
	hits int
}

// Opened notes that the door was found open at the moment at; slack is how long before that it may have been.
func (t *Turns) Opened(at, slack float64) {
	if t.last == 0 {
		t.last = at
		return
	}
	since := at - t.last
	if since <= 30 {
		return
	}
	tolerance := min(4, 0.5+slack)
	if math.Mod(since+tolerance, 60) <= 2*tolerance {
		t.hits = min(4, t.hits+1)
		turn := t.last + 60*math.Round(since/60)
		t.last = min(at, turn+0.25*max(0, at-turn))
		return
	}
	if t.hits -= 2; t.hits < 0 {
		t.hits, t.last = 0, at
	}
}

// Next is the next turn, 0 if none is known.
func (t *Turns) Next(now float64, closed int) float64 {
	if t.hits < 2 || closed < 2 {
		return 0
	}
	next := t.last + 60*math.Ceil((now-t.last)/60)
	if next-now > 59.5 {
		return 0
	}
	return next + 0.05
}
