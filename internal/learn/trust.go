package learn

// Trust decides whether the headers are used. They may be about another limit
// than the one that refuses, and then show quota left for calls that are refused.
// They are ignored for a while, and longer each time unless they were true for twice as long in between. How long it takes to find out
// depends on how often calls are rejected, and is no time in which they were true.
type Trust struct {
	until  float64 // they are ignored before
	pause  float64 // for how long the last time, seconds
	share  float64 // of the recent calls, refused although the headers said they would fit
	open   bool    // a call was taken since the last such refusal: only then does the next count, for headers foretell no outage
	tooLow bool    // they are ignored because they are about less than is taken
}

const (
	trustBroken = 0.2            // of the recent calls, refused although they should fit: the headers are untrue
	trustMost   = 2 * remembered // seconds for which untrue headers are ignored, at most
)

// Ignored reports whether the headers are ignored.
func (t *Trust) Ignored(now float64) bool { return now < t.until }

// Taken notes that a call was taken.
func (t *Trust) Taken(now float64) {
	t.share -= t.share / recent
	t.open = true
	if t.share < 1.0/recent && now-t.until > 2*t.pause { // true for longer than ignored
		t.pause = 0
	}
}

// Broken notes that a call was refused though the headers said that it would
// fit, and reports whether they are ignored from now on.
func (t *Trust) Broken(now float64) bool {
	if !t.open || t.Ignored(now) {
		return false
	}
	t.open = false
	if t.share += (1 - t.share) / recent; t.share < trustBroken {
		return false
	}
	t.ignore(now, againFirst)
	t.share = 0.5 * trustBroken // it takes fewer the next time
	return true
}

// Low notes that the headers are about less than is taken, so that they are ignored from now on.
func (t *Trust) Low(now float64) {
	t.ignore(now, remembered)
	t.tooLow = true
}

func (t *Trust) ignore(now, least float64) {
	t.pause = min(trustMost, max(least, 2*t.pause))
	t.until, t.share, t.tooLow = now+t.pause, 0, false
}

// weighRoom takes in that the headers of the refused call c show room although marks agree about a rate: they are about another limit.
func (m *Machine) weighRoom(now float64, c Call, r *Refusal) {
	switch {
	case m.calm.Agreed() && r.showsRoom(c.Tokens):
		m.setNoRoom(now, now+remembered)
	case m.noRoomUntil > 0 && (r.hasMeters() || !m.calm.Agreed()):
		m.setNoRoom(now, 0)
	}
}

func (m *Machine) setNoRoom(now, until float64) {
	switch {
	case until == 0:
		m.note(Decision{At: now, Kind: Verdict, Why: WhyRoom})
	case m.noRoomUntil == 0:
		m.note(Decision{At: now, Kind: Verdict, Why: WhyNoRoom})
	}
	m.noRoomUntil = until
}

// distrust ignores the headers because more is admitted than they leave room for.
func (m *Machine) distrust(now float64) {
	m.trust.Low(now)
	m.note(Decision{At: now, Kind: Verdict, Wait: m.trust.pause, Why: WhyLow})
}
