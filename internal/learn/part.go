package learn

import "math"

// Source of these: four and sixteen processes on one quota in internal/simulate.
const (
	evenFirst   = 15 // seconds of a cycle where the limit is shared
	evenSlope   = 6  // seconds of a shared cycle for each call per second of the whole limit, besides evenFirst
	evenLongest = 90 // seconds of a shared cycle, at most
)

const evenGain = 2 * hoverGain // like hoverGain, where the cap is shared

const debtMost = several // times what a part of a bucket holds: no more of what was sent beyond the part is made up for

// usePart has the machine use only a part of the limit, and press for it as each
// of the others that use the rest does. A rate or a cap that is learned is a part
// already, for the others press too: there the parts become even, because a
// machine that has less grows sooner.
func (m *Machine) usePart(share float64) {
	m.Flight.part, m.claim.part, m.Calls.part = true, true, true
	m.calm.share = share
	m.Calls.Save(share * m.Calls.saved)
	m.Tokens.Save(share * m.Tokens.saved)
	m.quota.Calls.part.share, m.quota.Tokens.part.share = share, share
}

// evenCycle is how long the pace takes from one probe to the next, where the
// whole limit seems to be rate: the longer, the more of the limit a machine has.
func evenCycle(rate float64) float64 { return min(evenLongest, evenFirst+evenSlope*rate) }

// Part is the part of the declared quota that one of several clients may use: its share of what is left at first, and of what
// comes in.
type Part struct {
	share float64 // 0: all of it

	begun bool
	rate  float64 // units per second that there are for all
	level float64
	at    float64 // as of when
}

// On reports whether it is less than all.
func (p *Part) On() bool { return p.share > 0 }

func (p *Part) tick(now float64) {
	p.level += p.share * p.rate * max(0, now-p.at)
	p.at = max(p.at, now)
}

// Begin takes its share of what the first response declares, of which gone has been used since. What was used before is missing
// from that already. The call may be of an earlier run.
func (p *Part) Begin(left, gone float64) {
	if !p.begun {
		p.begun, p.level = true, p.share*left-max(0, gone)
	}
}

// Observe applies the response to a call that left at the moment at, about a bucket that refills at a rate. What is left may be
// used by the time the bucket is full again. For a window that is not yet known as one, this is more than what seems to come
// in.
//
// A call that was refused has had its turn. The next turns come when the bucket has the next unit, right after those of another
// client, so that clients that share few calls do not collide again.
func (p *Part) Observe(at, refill float64, t *Told, taken float64) {
	p.tick(at)
	if p.rate = refill; t.Reset > quick {
		p.rate = max(refill, t.Remaining/t.Reset)
	}
	if taken == 0 {
		_, missing := math.Modf(t.Reset * refill)
		p.level -= p.share * missing
	}
}

// Take charges n.
func (p *Part) Take(now, n float64) {
	p.tick(now)
	p.level -= n
}

// Return gives back what Take charged.
func (p *Part) Return(n float64) { p.level += n }

// Wait is how long until n may go. A bucket that is full holds so much for all. More than the
// part goes while the headers are ignored, and that is not made up for without end.
func (p *Part) Wait(now, n, full float64) float64 {
	p.tick(now)
	most := max(n, p.share*full)
	p.level = max(n-debtMost*most, min(p.level, most))
	return max(0, n-p.level) / (p.share * p.rate)
}
