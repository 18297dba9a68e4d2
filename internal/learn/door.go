package learn

import "math"

// Door is what is known about when the provider is closed: the gate that holds every caller back after a refusal, and how to
// find out that it is open again.
type Door struct {
	Until float64 // no call leaves before

	trip    float64 // smoothed time until a refusal is received
	left    float64 // when the call left that was refused last
	refused int     // epochs in a row in which nothing got through
	foreign int     // refusals in a row that say nothing about our share
	full    int     // epochs in a row in which the service as a whole was full
	probing bool    // one call goes, and all wait for what becomes of it
	probed  float64 // when it left; 0: not yet
	asked   bool    // a refusal of this epoch has asked for a time
	whole   float64 // when the wait is over if no earlier opening is found
	truths  [waits]Truth
	truth   int // which of them judged the last Retry-After
	fines   Fines
	off     Rules
}

const (
	firstTrip   = 0.2    // seconds until a 429 is received, before one was
	heardBy     = 2.5    // refusal round trips in which the refusal of a probe would have arrived
	settles     = 1.5    // refusal round trips in which the refusals that are on their way arrive
	jitter      = 0.25   // of a wait that no response asks for: what is added at most
	askedJitter = 0.1    // of a wait that a response asks for, or after an overload: what is added at most; of a Retry-After, only its first second counts
	firstProbe  = 0.25   // seconds until the first probe without a Retry-After; each later wait is twice as long
	rarestProbe = minute // seconds between two probes, at most
	probeShare  = 0.02   // of the learned rate: what probes may use
)

// longestPause is the longest pause after a refusal that does not ask for one, in seconds. After a longer one, what was admitted
// lately would be nothing.
const longestPause = lately

// The wait at an overload that does not ask for one.
const (
	overloadFirst = firstProbe // seconds; twice as long each time
	overloadAll   = shortest   // seconds, if all calls are rejected; of a share of them, that share: it is no shorter
	overloadMost  = againFirst // seconds, at most
)

// What a Retry-After is about, as far as its truth goes.
const (
	short = iota // up to a second: it may be any fraction, rounded up
	long
	full  // the service as a whole
	waits // how many there are
)

func newDoor(off Rules) Door { return Door{trip: firstTrip, left: math.Inf(-1), off: off} }

// Stuck reports whether the provider has been closed for a while: no time for growth.
func (d *Door) Stuck() bool { return d.refused >= 2 || d.full >= 2 }

// Shut reports whether nothing has got through since the last refusal but one.
func (d *Door) Shut() bool { return d.refused > 0 }

// honest reports whether a wait that is asked for is taken to be about as long as the provider is closed: a short one always,
// because it may be a fraction rounded up, and a longer one unless such waits are known to be twice as long as necessary.
func (d *Door) honest(asked float64) bool { return asked <= 1 || d.truths[long].mul() > 0.5 }

// short reports whether the wait that was asked for last is known to be too short.
func (d *Door) short() bool { return d.truths[d.truth].mul() > 1 }

// Outlasted reports whether the provider has refused more than one call after the wait that it asked for, although its waits are
// not known to be too short: this is an outage.
func (d *Door) Outlasted() bool { return d.truths[d.truth].again > 1 && !d.short() }

func (d *Door) tested() bool { return d.probing || d.truths[d.truth].Testing }

// Probing is how long a call has to wait for what becomes of a probe. found is
// when the probe left that seems to have got through, 0 if none has.
func (d *Door) Probing(now float64) (wait, found float64) {
	if !d.tested() || d.probed == 0 {
		return 0, 0
	}
	heard := d.probed + d.hears()
	switch {
	case now >= heard:
		return 0, d.probed
	case d.probing:
		return heard - now, 0
	default: // the others need not wait longer than without a test
		return max(0, min(heard, d.whole)-now), 0
	}
}

// Sent notes that a call left, and reports whether it is a probe.
func (d *Door) Sent(now float64) (probe bool) {
	probe = d.probed == 0 && d.tested()
	if probe {
		d.probed = now
	}
	return probe
}

// Hears is the time after which the refusal of a probe would have been received.
func (d *Door) Hears() float64 { return heardBy * d.trip }

// hears is the same for the probe that is out. One that only tests a short wait holds the others back for less.
func (d *Door) hears() float64 {
	if d.truth == short && !d.probing {
		return settles * d.trip
	}
	return d.Hears()
}

// Heard records how long a refusal took to be received. One that took very long, such as that of an upload, or because something
// further in has retried the call, counts as four times the usual time.
func (d *Door) Heard(took float64) {
	d.trip += smoothing * (min(max(tiny, took), outlier*d.trip, mostRefusal) - d.trip)
}

// Refused notes the first refusal of an epoch, of a call that left at the moment left.
func (d *Door) Refused(left float64) { d.left, d.probed, d.asked = left, 0, false }

// wait moves the gate back, never forward.
func (d *Door) wait(until float64) { d.Until = max(d.Until, until) }

// outlast waits until then, which is no test of an earlier opening.
func (d *Door) outlast(until float64) {
	if until > d.Until {
		d.truths[d.truth].Testing = false
	}
	d.wait(until)
}

// Obey waits as long as a refusal asks, corrected by how true earlier ones were.
func (d *Door) Obey(now, asked, rate, luck float64) {
	d.asked = true
	later := luck * askedJitter * min(asked, 1)
	if d.off.Has(TruthRule) {
		d.wait(now + asked + later)
		return
	}
	d.truths[d.truth].Testing = false
	d.truth = short
	if asked > 1 {
		d.truth = long
	}
	t := &d.truths[d.truth]
	d.wait(now + t.Shut(now, asked, rate, settles*d.trip) + later)
	d.whole = now + t.wait(asked) + later
}

// Echo waits as long as a further refusal of the same epoch asks, unless that may be a fraction rounded up. The first one of an
// epoch that asks is only reported: it has to be obeyed instead.
func (d *Door) Echo(now, asked float64) (first bool) {
	if !d.asked {
		return true
	}
	if t := &d.truths[d.truth]; d.truth != short || t.mul() >= 1 {
		d.wait(now + t.Echo(asked))
	}
	return false
}

// Settled notes that an epoch has begun in which something got through.
func (d *Door) Settled() { d.refused = 0 }

// Still waits because nothing has got through since the last refusal. asked is
// what the refusal asks for, if hinted; reset when the headers say that there is quota
// again, 0 unknown; rate the learned rate; luck is between 0 and 1.
func (d *Door) Still(now, asked float64, hinted bool, reset, rate, luck float64) {
	d.refused++
	if hinted {
		d.asked = true
		if d.off.Has(TruthRule) {
			d.wait(now + asked)
		} else {
			d.wait(now + d.truths[d.truth].Again(asked))
		}
	}
	n := float64(d.refused)
	most := max(1, min(rarestProbe, 1/(probeShare*max(rate, leastRate))))
	switch {
	case reset > 0 && d.refused > 1: // a window that has not turned yet
		d.wait(now + min(rarestProbe, reset*math.Pow(2, (n-2)*luck)))
	case !hinted:
		d.wait(now + min(most, firstProbe*math.Pow(2, n-1))*(1+jitter*luck))
	case d.refused > 2: // the Retry-After keeps being too short, or rejections count and others probe as well
		d.wait(now + asked + luck*min(most, firstProbe*math.Pow(2, n-1)))
	}
	d.probing = d.refused > 1 || d.Alien()
}

// Foreign waits if refusals continue that say nothing about our share.
func (d *Door) Foreign(now, luck float64) {
	if d.foreign++; d.foreign > 1 {
		d.wait(now + min(longestPause, d.trip*math.Pow(2, float64(d.foreign-1)))*(1+jitter*luck))
	}
}

// Alien reports whether such refusals have shut the door.
func (d *Door) Alien() bool { return d.foreign > 1 }

// Overloaded waits because the service as a whole is full. asked is the wait that it asks for from a call that left at the moment
// left; if 0, each wait is twice as long as the one before. rate is what could be sent meanwhile; if 0, a wait that is asked for is
// not corrected. again is whether the refusal begins an epoch.
func (d *Door) Overloaded(now, left, asked, rate, share, luck float64, again bool) {
	open := d.full == 0
	if again {
		d.full++
	}
	switch t := &d.truths[full]; {
	case asked == 0:
		asked = min(overloadMost, max(overloadAll*share, overloadFirst*math.Pow(2, float64(max(0, d.full-1)))))
	case rate == 0 || d.off.Has(TruthRule):
	case left < t.shutAt:
		asked = t.Echo(asked)
	case open:
		d.truth = full
		d.whole = now + t.wait(asked)
		asked = t.Shut(now, asked, rate, settles*d.trip)
	default:
		asked = t.Again(asked)
	}
	d.probing = d.probing || d.full > 2
	d.probed = 0
	d.wait(now + asked*(1+askedJitter*luck))
}

// Pause waits after a refusal without a wait: about one call, and until the refusals of calls in flight have been received.
func (d *Door) Pause(now, rate float64) {
	d.wait(now + max(settles*d.trip, min(longestPause, 1/max(rate, leastRate))))
}

// Opened notes that a call which left at the moment left was not refused.
func (d *Door) Opened(left float64) {
	d.truths[d.truth].Opened(left)
	d.probing, d.refused, d.foreign, d.full, d.probed = false, 0, 0, 0, 0
}

// Opens reports whether a success of a call that left at the moment left proves the provider open: the call left after the one
// that was refused last.
func (d *Door) Opens(left float64) bool { return left > d.left }
