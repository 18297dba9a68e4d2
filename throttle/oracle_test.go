package throttle_test

import (
	"slices"
	"time"

	"github.com/headrace/headrace/throttle"
)

// spec describes a window in a way that the oracle can read.
type spec struct {
	unit throttle.Unit
	max  int64
	per  time.Duration // a sliding window or, with fixed, a calendar; or
	rate int64         // a bucket, of so many per second

	fixed bool
}

func (s spec) window() throttle.Window {
	switch {
	case s.fixed:
		return throttle.Fixed(s.max, s.per, time.Time{}).Of(s.unit)
	case s.per > 0:
		return throttle.Sliding(s.max, s.per).Of(s.unit)
	}
	return throttle.Bucket(float64(s.rate), s.max).Of(s.unit)
}

// until is when the calendar period ends that contains now. One begins at time 0.
func (s spec) until(now time.Duration) time.Duration { return now - now%s.per + s.per }

func (s spec) perUnit() time.Duration { return time.Second / time.Duration(s.rate) }

// charge is one line of an oracle's log: units taken, or a new burst.
type charge struct {
	at    time.Duration
	call  int64 // the Seq of the call that took them
	debit bool  // taken by a settlement, whether they fitted or not
	n     int64 // what of it was not given back
	burst int64 // if not zero, the bucket was resized to it
}

// oracle is a second opinion on one window: it keeps everything that ever
// happened and works every answer out anew.
type oracle struct {
	spec
	start int64         // the burst at first
	ends  time.Duration // of a calendar: when the log is emptied
	log   []charge
}

func newOracle(s spec) *oracle { return &oracle{spec: s, start: s.max} }

// roll begins a new calendar period, if the present one is over.
func (o *oracle) roll(now time.Duration) {
	if o.fixed && now >= o.ends {
		o.log, o.ends = nil, o.until(now)
	}
}

// sum is what the window holds at now, unless it is a bucket.
func (o *oracle) sum(now time.Duration) (n int64) {
	if o.fixed {
		for _, c := range o.log {
			n += c.n
		}
		return n
	}
	for _, c := range o.log {
		if now-c.at < o.per {
			n += c.n
		}
	}
	return n
}

// missing is how much time the bucket needs to be full; replayed tells from
// how many charges since it was full that is known.
func (o *oracle) missing(now time.Duration) (missing time.Duration, replayed int) {
	burst, last := o.start, time.Duration(0)
	for _, c := range o.log {
		missing, last = max(0, missing-(c.at-last)), c.at
		if missing == 0 {
			replayed = 0
		}
		replayed++
		if c.burst > 0 {
			missing, burst = max(0, missing+time.Duration(c.burst-burst)*o.perUnit()), c.burst
		}
		missing += time.Duration(c.n) * o.perUnit()
	}
	return max(0, missing-(now-last)), replayed
}

// wait is how long until n units fit, if nothing else happens.
func (o *oracle) wait(now time.Duration, n int64) time.Duration {
	if n == 0 {
		return 0
	}
	o.roll(now)
	switch {
	case o.per == 0:
		missing, _ := o.missing(now)
		return max(0, missing-time.Duration(o.max-n)*o.perUnit())
	case o.fixed && o.sum(now)+n > o.max:
		return o.ends - now
	case o.fixed:
		return 0
	}
	ends := []time.Duration{now}
	for _, c := range o.log {
		ends = append(ends, max(now, c.at+o.per))
	}
	slices.Sort(ends)
	for _, t := range ends {
		if o.sum(t)+n <= o.max {
			return t - now
		}
	}
	panic("the cost does not fit at all")
}

func (o *oracle) take(now time.Duration, call, n int64, debit bool) {
	o.roll(now)
	o.log = append(o.log, charge{at: now, call: call, n: n, debit: debit})
}

func (o *oracle) giveBack(call, n int64) {
	for i := range o.log {
		if c := &o.log[i]; c.call == call && !c.debit {
			c.n -= n
		}
	}
}

// exact says whether a meter remembers all that it needs to give back exactly.
// A sliding window with sub-slots, and a bucket after many takes, may be stricter.
func (o *oracle) exact(now time.Duration) bool {
	if o.per > 0 {
		return o.fixed || o.max <= 1024
	}
	_, replayed := o.missing(now)
	return replayed < 16
}

// follow makes the oracle of a new window of the most alike of the old ones.
func follow(now time.Duration, s spec, old []*oracle) *oracle {
	next := newOracle(s)
	var best *oracle
	for _, o := range old {
		if o.unit != s.unit || o.fixed != s.fixed || (o.per > 0) != (s.per > 0) {
			continue
		}
		if best == nil || o.per == s.per || best.per != s.per && o.per > best.per {
			best = o
		}
	}
	switch {
	case best == nil:
	case s.fixed:
		best.roll(now)
		next.log, next.ends = slices.Clone(best.log), s.until(now)
	case s.per == 0:
		next.start = best.start
		next.log = append(slices.Clone(best.log), charge{at: now, burst: s.max})
	default:
		for _, c := range best.log {
			if now-c.at < best.per {
				next.log = append(next.log, c)
			}
		}
	}
	return next
}

// model is a second opinion on a whole limiter.
type model struct {
	concurrency int
	inFlight    int
	paused      time.Duration
	windows     []*oracle
	seq         int64
	total       throttle.Cost
	vague       bool // the limiter may be stricter
}

func (m *model) limits() throttle.Limits {
	lim := throttle.Limits{Concurrency: m.concurrency}
	for _, o := range m.windows {
		lim.Windows = append(lim.Windows, o.window())
	}
	return lim
}

func (m *model) setLimits(now time.Duration, concurrency int, specs []spec) {
	next := make([]*oracle, 0, len(specs))
	for _, s := range specs {
		next = append(next, follow(now, s, m.windows))
	}
	m.concurrency, m.windows = concurrency, next
}

func (m *model) possible(c throttle.Cost) bool {
	for _, o := range m.windows {
		if c.Of(o.unit) > o.max {
			return false
		}
	}
	return true
}

// wait is how long c has to, Forever if for a slot.
func (m *model) wait(now time.Duration, c throttle.Cost) time.Duration {
	wait := max(0, m.paused-now)
	for _, o := range m.windows {
		wait = max(wait, o.wait(now, c.Of(o.unit)))
	}
	if wait == 0 && m.concurrency > 0 && m.inFlight >= m.concurrency {
		return throttle.Forever
	}
	return wait
}

func (m *model) exact(now time.Duration) bool {
	for _, o := range m.windows {
		if !o.exact(now) {
			return false
		}
	}
	return !m.vague
}

// admit returns what the limiter should note of the admission but for the
// point in time.
func (m *model) admit(now time.Duration, c throttle.Cost, keeps bool) throttle.Sent {
	m.seq++
	for _, o := range m.windows {
		if n := c.Of(o.unit); n > 0 {
			o.take(now, m.seq, n, false)
		}
	}
	m.total.Requests += c.Of(throttle.Requests)
	m.total.Tokens += c.Of(throttle.Tokens)
	m.total.Input += c.Input
	m.total.Output += c.Output
	m.total.Points += c.Points
	s := throttle.Sent{Seq: m.seq, InFlight: m.inFlight, Cost: c, Total: m.total}
	if keeps {
		m.inFlight++
	}
	return s
}

// end settles a call to what was used.
func (m *model) end(now time.Duration, s throttle.Sent, used func(throttle.Unit) int64) {
	m.inFlight--
	for _, o := range m.windows {
		switch d := used(o.unit) - s.Cost.Of(o.unit); {
		case d > 0:
			o.take(now, s.Seq, d, true)
		case d < 0:
			o.giveBack(s.Seq, -d)
		}
	}
}
