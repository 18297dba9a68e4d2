package learn

import "math"

// Fines measures what a rejected call costs where rejections count against the limit, too: the time by which it delays the next
// admission. Each Retry-After says when the provider will admit a call. That moment is the same for all of them, unless each
// rejection delays it, which the Retry-After that comes with it does not include.
//
// Calls of other processes delay it as well, but no faster than calls come in: while calls that left together are rejected, they do
// so once.
type Fines struct {
	until float64 // rejections are taken to count until then

	calls       float64 // rejected since the epoch began
	first, last float64 // the earliest and the latest moment at which the provider is said to open
	next        float64 // the earliest one after the first; 0: none is
	left, newer float64 // when the first and the last of them left
	tokens      float64 // of the first: a call of another size may have to wait for tokens
	whole       bool    // the waits are whole seconds, so any fractions rounded up
}

// Begin begins an epoch.
func (f *Fines) Begin() { *f = Fines{until: f.until} }

// Refused notes that the call c was rejected and has to wait for so many seconds. It reports whether this proves that rejections
// count, which is not known yet.
func (f *Fines) Refused(now float64, c Call, asked float64) (proof bool) {
	opens := c.At + asked
	if f.calls == 0 {
		f.first, f.last, f.left, f.newer, f.tokens = opens, opens, c.At, c.At, c.Tokens
	}
	f.calls++
	f.whole = f.whole || asked == math.Floor(asked)
	if c.Tokens != f.tokens {
		return false
	}
	s := f.slack()
	switch {
	case opens < f.first-s:
		f.next = f.first
	case opens > f.first+s && (f.next == 0 || opens < f.next):
		f.next = opens
	}
	f.first, f.last = min(f.first, opens), max(f.last, opens)
	f.left, f.newer = min(f.left, c.At), max(f.newer, c.At)
	if twice := f.next > 0 && f.last > f.next+s; twice && f.newer-f.left < 0.5*(f.last-f.first) {
		proof = now >= f.until
		f.until = now + remembered
	}
	return proof
}

// slack is by how much the moment differs for no reason.
func (f *Fines) slack() float64 {
	if f.whole {
		return 1
	}
	return askedJitter
}

const mostFine = rarestProbe // seconds by which a rejection delays the next admission, at most

// Each is how long each rejection delays the next admission, in seconds; 0 if none is known to.
func (f *Fines) Each() float64 {
	if later := f.last - f.first; f.calls >= 2 && later > f.slack() && f.left < f.until {
		return min(mostFine, later/(f.calls-1))
	}
	return 0
}

// Until is when the provider opens if the last rejection has delayed that, too; 0 if none is known to.
func (f *Fines) Until() float64 {
	if each := f.Each(); each > 0 {
		return f.last + each
	}
	return 0
}

// waitOutFine waits for what the rejection of c costs, if rejections count.
func (m *Machine) waitOutFine(now float64, c Call, r *Refusal) {
	if counts := r.asksToWait() && r.mayBeRate(); !counts || m.off.Has(GateRule) || m.off.Has(TruthRule) {
		return
	}
	f := &m.Door.fines
	proof := f.Refused(now, c, r.Asked)
	until := f.Until()
	if m.Calls.On { // an outage, too, asks for longer and longer
		until = min(until, f.last+several/m.Calls.Pace())
	}
	m.Door.extendUntil(until)
	if proof {
		m.note(Decision{At: now, Kind: Verdict, Wait: f.Each(), Why: WhyFined})
	}
}
