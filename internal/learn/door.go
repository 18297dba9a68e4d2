package learn

import "math"

// Door is what is known about when the provider is closed: the gate that holds every caller back after a refusal, and how to
// find out that it is open again.
type Door struct {
	Until float64 // no call leaves before

	rtt       float64 // smoothed round-trip time of a refused call
	left      float64 // when the call left that was refused last
	refused   int     // epochs in a row in which nothing got through
	foreign   int     // refusals in a row that say nothing about our share
	overloads int     // epochs in a row in which the service as a whole was full
	probing   bool    // one call goes, and all wait for what becomes of it
	probed    float64 // when it left; 0: not yet
	timed     bool    // a refusal of this epoch has asked for a time
	untested  float64 // when the wait would be over without the test of an earlier opening
	truths    [waitKinds]Truth
	kind      waitKind // of the last Retry-After
	fines     Fines
	off       Rules
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

// waitKind is a kind of Retry-After. How true those of one kind are says nothing about the others.
type waitKind uint8

const (
	shortWait    waitKind = iota // up to a second: it may be any fraction, rounded up
	longWait                     // longer than a second
	overloadWait                 // of an overloaded service
	waitKinds                    // how many there are
)

func newDoor(off Rules) Door { return Door{rtt: firstTrip, left: math.Inf(-1), off: off} }

// Stuck reports whether the provider has been closed for a while: no time for growth.
func (d *Door) Stuck() bool { return d.refused >= 2 || d.overloads >= 2 }

// Shut reports whether nothing has got through since the last refusal but one.
func (d *Door) Shut() bool { return d.refused > 0 }

// longTooLong reports whether waits of more than a second are known to be at least twice as long as the provider is closed.
func (d *Door) longTooLong() bool { return d.truths[longWait].mul() <= 0.5 }

// current corrects waits of the kind that was asked for last.
func (d *Door) current() *Truth { return &d.truths[d.kind] }

// understated reports whether the wait that was asked for last is known to be too short.
func (d *Door) understated() bool { return d.current().mul() > 1 }

// Outlasted reports whether the provider has refused more than one call after the wait that it asked for, although its waits are
// not known to be too short: this is an outage.
func (d *Door) Outlasted() bool { return d.current().again > 1 && !d.understated() }

func (d *Door) tested() bool { return d.probing || d.current().Testing }

// Probing is how long a call has to wait for what becomes of a probe. found is
// when the probe left that seems to have got through, 0 if none has.
func (d *Door) Probing(now float64) (wait, found float64) {
	if !d.tested() || d.probed == 0 {
		return 0, 0
	}
	due := d.probed + d.probeTimeout()
	switch {
	case now >= due:
		return 0, d.probed
	case d.probing:
		return due - now, 0
	default: // the others need not wait longer than without a test
		return max(0, min(due, d.untested)-now), 0
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

// Unsent notes that the call which left at the moment left was not sent, or proved nothing: it is no probe.
func (d *Door) Unsent(left float64) {
	if d.probed == left {
		d.probed = 0
	}
}

// RefusalTimeout is the time after which the refusal of a call would have been received.
func (d *Door) RefusalTimeout() float64 { return heardBy * d.rtt }

// probeTimeout is the same for the probe that is out. One that only tests a short wait holds the others back for less.
func (d *Door) probeTimeout() float64 {
	if d.kind == shortWait && !d.probing {
		return settles * d.rtt
	}
	return d.RefusalTimeout()
}

// RefusalTook records how long a refusal took to be received. One that took very long, such as that of an upload, or because something
// further in has retried the call, counts as four times the usual time.
func (d *Door) RefusalTook(took float64) {
	d.rtt += smoothing * (min(max(tiny, took), outlier*d.rtt, mostRefusal) - d.rtt)
}

// Refused notes the first refusal of an epoch, of a call that left at the moment left.
func (d *Door) Refused(left float64) { d.left, d.probed, d.timed = left, 0, false }

// closeUntil moves the opening of the gate back, never forward.
func (d *Door) closeUntil(until float64) { d.Until = max(d.Until, until) }

// extendUntil waits until then, which is no test of an earlier opening.
func (d *Door) extendUntil(until float64) {
	if until > d.Until {
		d.current().Testing = false
	}
	d.closeUntil(until)
}

// Obey waits as long as a refusal asks, corrected by how true earlier ones were.
func (d *Door) Obey(now, asked, rate, luck float64) {
	d.timed = true
	later := luck * askedJitter * min(asked, 1)
	if d.off.Has(TruthRule) {
		d.closeUntil(now + asked + later)
		return
	}
	d.current().Testing = false
	d.kind = shortWait
	if asked > 1 {
		d.kind = longWait
	}
	t := d.current()
	d.closeUntil(now + t.Shut(now, asked, rate, settles*d.rtt) + later)
	d.untested = now + t.wait(asked) + later
}

// Echo waits as long as a further refusal of the same epoch asks, unless that may be a fraction rounded up. The first one of an
// epoch that asks is only reported: it has to be obeyed instead.
func (d *Door) Echo(now, asked float64) (first bool) {
	if !d.timed {
		return true
	}
	if t := d.current(); d.kind != shortWait || t.mul() >= 1 {
		d.closeUntil(now + t.Echo(asked))
	}
	return false
}

// Settled notes that an epoch has begun in which something got through.
func (d *Door) Settled() { d.refused = 0 }

// KeepShut waits because nothing has got through since the last refusal. asked is
// what the refusal asks for, 0 if it does not; reset when the headers say that there is quota
// again, 0 unknown; rate the learned rate; luck is between 0 and 1.
func (d *Door) KeepShut(now, asked, reset, rate, luck float64) {
	d.refused++
	if asked > 0 {
		d.timed = true
		if d.off.Has(TruthRule) {
			d.closeUntil(now + asked)
		} else {
			d.closeUntil(now + d.current().Again(asked))
		}
	}
	n := float64(d.refused)
	most := max(1, min(rarestProbe, 1/(probeShare*max(rate, leastRate))))
	switch {
	case reset > 0 && d.refused > 1: // a window that has not turned yet
		d.closeUntil(now + min(rarestProbe, reset*math.Pow(2, (n-2)*luck)))
	case asked == 0 || d.refused > 1: // the Retry-After is too short, or rejections count and others probe as well
		d.closeUntil(now + asked + min(most, firstProbe*math.Pow(2, n-1))*(1+jitter*luck))
	}
	d.probing = d.refused > 1 || d.ShutByForeign()
}

// PauseForeign waits if refusals continue that say nothing about our share.
func (d *Door) PauseForeign(now, luck float64) {
	if d.foreign++; d.foreign > 1 {
		d.closeUntil(now + min(longestPause, d.rtt*math.Pow(2, float64(d.foreign-1)))*(1+jitter*luck))
	}
}

// ShutByForeign reports whether such refusals have shut the door.
func (d *Door) ShutByForeign() bool { return d.foreign > 1 }

// Overloaded waits because the service as a whole is full. asked is the wait that it asks for from a call that left at the moment
// left; if 0, each wait is twice as long as the one before. rate is what could be sent meanwhile; if 0, a wait that is asked for is
// not corrected. fresh is whether the refusal begins an epoch.
func (d *Door) Overloaded(now, left, asked, rate, share, luck float64, fresh bool) {
	open := d.overloads == 0
	if fresh {
		d.overloads++
	}
	switch t := &d.truths[overloadWait]; {
	case asked == 0:
		asked = min(overloadMost, max(overloadAll*share, overloadFirst*math.Pow(2, float64(max(0, d.overloads-1)))))
	case rate == 0 || d.off.Has(TruthRule):
	case left < t.shutAt:
		asked = t.Echo(asked)
	case open:
		d.kind = overloadWait
		d.untested = now + t.wait(asked)
		asked = t.Shut(now, asked, rate, settles*d.rtt)
	default:
		asked = t.Again(asked)
	}
	d.probing = d.probing || d.overloads > 2
	d.probed = 0
	d.closeUntil(now + asked*(1+askedJitter*luck))
}

// Pause waits after a refusal without a wait: about one call, and until the refusals of calls in flight have been received.
func (d *Door) Pause(now, rate float64) {
	d.closeUntil(now + max(settles*d.rtt, min(longestPause, 1/max(rate, leastRate))))
}

// Opened notes that a call which left at the moment left was not refused.
func (d *Door) Opened(left float64) {
	d.current().Opened(left)
	d.probing, d.refused, d.foreign, d.overloads, d.probed = false, 0, 0, 0, 0
}

// Opens reports whether a success of a call that left at the moment left proves the provider open: the call left after the one
// that was refused last.
func (d *Door) Opens(left float64) bool { return left > d.left }
