package learn

import "math"

// Pacer spaces what is sent of one unit: at the rate that was measured, a
// little above it after a while, and much above it once the limit is known to have
// risen. Amounts are in the unit, rates in units per second.
type Pacer struct {
	On   bool
	Rate float64 // measured at the last mark

	active   float64 // time since then in which the pacer was what held back
	cycle    float64
	level    float64 // what may go at once
	saved    float64 // what may go besides, with few calls in flight: a quota that is not used yet
	expected bool    // the rate was known before the first mark
	unused   bool    // nothing has been sent, so the first may go at once, whatever its size
	at       float64 // as of when
	shut     bool    // the gate was, then
	model    float64 // the provider's bucket, if its rate were Rate and it was empty at the mark
	fast     float64 // the pace, while it grows exponentially; else 0
	spurs    bool    // because the headers show that there is room
	marks    int
	burst    float64 // how much more than the rate the provider takes after a pause
	weak     bool    // the rate was measured on a handful of calls after a pause in demand: the next mark on as few may lower it at once
	rested   bool    // the demand has paused since the last mark
	fills    bool    // the first pause of a rate that was expected: what comes in meanwhile goes at once
	part     bool    // others press for the same limit
	back     float64 // just below the pace at the last mark, if it had grown beyond a slow rate; else 0
	span     float64 // of the window in which the provider counts; 0: none is known

	Binding  bool
	Turns    bool // calls and tokens are both paced, and take turns in binding
	OneByOne bool // it is unknown how many may go at once, so that only one does

	each float64 // what a call takes at that rate, of tokens; 0: calls are counted

	off Rules
}

const (
	margin    = 0.97       // of the measured rate: the pace just after a mark
	flat      = 0.15       // of a cycle, in which the pace is at most the rate; twelve
	climb     = 0.4        // of a cycle, in which the pace then grows by climbBy
	climbBy   = 1 - margin // of the rate: as far above it as the pace begins below it
	fastGrow  = 0.2        // per second: exponential growth after a proof
	firstGrow = 0.25       // per second: the same until the second mark, and at most e times for each call; cold start
	ownBurst  = 0.02       // seconds of the pace that may go at once after a late timer

	cycleOne      = 63             // seconds that a cycle takes at one unit per second; twelve
	cycleShortest = 20             // seconds, of a fast rate
	cyclePower    = 0.3            // exponent: a cycle shrinks by this power of a rate above one per second
	slowPower     = 1 - cyclePower // exponent: and grows by this one below
	eagerCalls    = 12             // units per second: a faster rate can be measured sooner than in a whole cycle; on-off 30 s
)

const (
	leastRate    = tiny               // units per second: no rate is lower
	leastBucket  = handful            // calls that the provider's bucket is taken to hold, at least
	eagerMost    = several            // times as soon, at most, a fast rate is measured
	turnsDeep    = several            // calls, and calls' tokens, that may go at once where both are paced
	windowMost   = standBy            // times the rate: the pace, at most, where calls are counted in windows
	grownFar     = standBy            // times the rate: a faster pace is far from it
	riseProof    = rare               // of what comes in during a cycle: so much more than the model allows proves that the limit has risen
	riseSpans    = enough             // windows of the provider: a cycle counts as that long at least
	miscount     = enough             // units by which the model may be wrong
	fewLeast     = memoryFell         // of the pace: what a measurement on a handful of calls leaves at least
	burstFades   = recent             // marks over which a learned burst fades
	earlyMarks   = enough             // marks: the rate of so few is likely to be too low
	mostOwed     = rarestProbe        // seconds of the pace that calls owe for using more than they reserved, at most
	mostPaced    = 2 * lately         // seconds of the pace that a call takes for what it reserves, at most, unless calls usually take as much
	mostExpected = several * mostOwed // the same, if the rate is known from elsewhere
)

// Cycle is how long the pace takes from one probe to the next while marks do not
// agree about the rate. See Calm for what follows.
func Cycle(rate float64) float64 { return settled(rate) * eager(rate) }

// settled is the cycle in which a probe costs little.
func settled(rate float64) float64 {
	rate = max(rate, leastRate)
	if rate >= 1 {
		return max(cycleShortest, cycleOne*math.Pow(rate, -cyclePower))
	}
	return cycleOne * math.Pow(rate, -slowPower)
}

// eager is the share of a settled cycle in which a rate can be measured.
func eager(rate float64) float64 {
	return min(1, max(1.0/eagerMost, eagerCalls/max(rate, leastRate)))
}

// deep is what may go at once. A large call waits for tokens, and small ones for calls: without
// more, what the other pace could not use meanwhile is lost.
func (p *Pacer) deep(unit float64) float64 {
	if p.Turns && !p.OneByOne {
		return turnsDeep * unit
	}
	return unit
}

// Expect begins with a rate that is known from elsewhere. The provider's bucket
// is taken to be unused, as at the start, or to have been drawn on by others.
func (p *Pacer) Expect(rate, cycle float64, unused bool) {
	p.begin(rate, cycle)
	p.On, p.expected, p.marks, p.unused = true, true, 1, unused
}

// Save lets burst go besides the pace while few calls are in flight: the provider's bucket is taken to hold it.
func (p *Pacer) Save(burst float64) { p.saved, p.model = burst, burst }

// Pace is what may be sent in a second; 0 while nothing has been measured.
func (p *Pacer) Pace() float64 {
	if !p.On {
		return 0
	}
	if p.fast > 0 {
		return p.fast
	}
	level := flat * p.cycle
	if p.active < level {
		return p.Rate * (margin + (1-margin)*p.active/level)
	}
	z := (p.active - level) / (climb * p.cycle)
	if p.span > 0 { // room in a window is no proof of a risen limit
		return p.Rate * min(1+climbBy*z*z*z, windowMost)
	}
	rate := p.Rate
	if p.back > rate {
		if z--; z < 0 {
			return p.back + (p.back-rate)*z*z*z
		}
		rate = p.back
	}
	return rate * (1 + climbBy*z*z*z)
}

// Grown reports whether the pace is far from what was measured.
func (p *Pacer) Grown() bool { return p.On && (p.fast > 0 || p.Pace() > grownFar*p.Rate) }

// Tick advances the pacer to now. open is whether the gate is open; idle that no call waits; unit what one call costs.
func (p *Pacer) Tick(now float64, open, grow, idle bool, unit float64) {
	dt, opens := now-p.at, open && p.shut
	p.at, p.shut = now, !open
	if !p.On || dt <= 0 {
		return
	}
	pace := p.Pace()
	p.refill(dt, pace, open, idle, unit)
	if open && grow && p.Binding {
		p.grow(dt, pace, opens, unit)
	}
}

// refill adds the inflow of dt seconds to the model of the provider's bucket, and to what may go.
func (p *Pacer) refill(dt, pace float64, open, idle bool, unit float64) {
	before := p.model
	p.model += p.Rate * dt
	if top := max(2*p.Rate, leastBucket*unit) + p.burst; p.model > top {
		p.model = max(top, before) // it may have begun above
		p.rested = p.rested || idle && dt > interruption
	}
	deep := p.deep(unit) + pace*ownBurst
	if p.fills {
		deep = max(deep, leastBucket*unit)
	}
	if p.level < deep && (open || p.fills) { // what was given back may lie above
		p.level = min(deep, p.level+dt*pace)
	}
}

// grow takes dt seconds in which the pacer held calls back as time of the cycle, or lets the pace grow exponentially. opens is whether
// the gate has opened in them.
func (p *Pacer) grow(dt, pace float64, opens bool, unit float64) {
	counts := dt
	if opens { // most of the time is that of the pause, which says nothing about a faster rate
		counts = min(dt, p.Next())
	}
	if !p.spurs {
		p.active += counts
	}
	switch {
	case p.fast > 0 && opens:
	case p.fast > 0 && p.marks == 1:
		p.fast = min(mostRate, p.fast*math.Exp(min(firstGrow, p.Rate/max(1, p.each))*dt))
	case p.fast > 0:
		p.fast = min(mostRate, p.fast*math.Exp(fastGrow*dt))
	case !p.off.Has(GrowthRule) && p.overdrawn(unit):
		p.fast = pace
	}
}

// overdrawn reports whether more was admitted than the model of the provider's bucket holds, so that the limit has risen.
func (p *Pacer) overdrawn(unit float64) bool {
	return p.model < -(miscount*unit + riseProof*p.Rate*max(p.cycle, riseSpans*p.span))
}

const rounding = 1e-9 // units; by definition: what float64 loses in sums

// Wait is how long until n may go.
func (p *Pacer) Wait(n float64) float64 {
	if !p.On || p.unused || p.level >= n-rounding {
		return 0
	}
	return (n - p.level) / p.Pace()
}

// Saves reports whether n may go because so much is saved, also for what was used beyond it.
func (p *Pacer) Saves(n float64) bool { return p.saved+min(0, p.level) >= n-rounding }

// Take charges n. What goes although the pace would hold it back, by the headers, leaves no debt.
func (p *Pacer) Take(n float64) {
	p.model -= n
	besides := p.unused || p.level < n-rounding && p.Saves(n)
	if n > 0 && besides {
		p.saved, p.unused = max(0, p.saved-n), false
		return
	}
	p.level = max(p.level-n, min(p.level, -n))
	p.fills = p.fills && p.level >= n
}

// Return gives back what Take charged. What was used beyond that, by a number in a response, holds calls back for a
// minute at most.
func (p *Pacer) Return(n float64) {
	most := -mostOwed * p.Rate
	p.level = max(p.level+n, min(p.level, most))
	p.model += max(n, most)
}

// Again lets a refused call of n go as soon as the gate opens: it has not had its turn.
func (p *Pacer) Again(n float64) { p.level = max(p.level, n) }

// Refund corrects the model only: what was refused did not cost the provider's bucket.
func (p *Pacer) Refund(n float64) { p.model += n }

// Cut begins a cycle at the rate that was measured. few says that it was measured
// on a handful of calls.
func (p *Pacer) Cut(measured, cycle float64, few bool) {
	first, back, kept := !p.On, 0.0, 0.0
	if p.On {
		old := p.Pace()
		plain := p.fast == 0 && p.span == 0 && !p.Turns && !p.part
		switch {
		case plain && measured >= p.Rate && measured < 1: // a small bucket may have run over below it
			back = margin * old
		case plain && measured < cautious*p.Rate && p.Rate < 1 && p.OneByOne && p.active < (flat+climb)*p.cycle:
			kept = p.active // others have emptied the bucket, which happens at any pace: if that began a cycle, the pace would never grow
		}
		weak := p.weak && few
		p.weak = false
		if p.rested && !weak { // what came in during the pause is not known
			measured = max(measured, p.Rate)
		}
		measured = min(measured, old)
		switch {
		case weak: // the rate before was hardly more than a guess
		case few:
			measured = max(measured, fewLeast*old)
		case p.Turns: // what calls have reserved says little about what was left
			measured = max(measured, backOff*old)
		}
		if p.rested && p.model < -miscount {
			p.burst -= p.model
		}
		p.burst -= p.burst / burstFades
	}
	p.fills = p.expected && p.marks == 1
	p.marks++
	p.begin(measured, cycle)
	p.active, p.back = kept, back
	p.On, p.unused, p.level, p.saved, p.rested = true, false, 0, 0, false
	if first && !p.off.Has(GrowthRule) { // a burst has been measured with the rate: the next mark comes soon
		p.fast = p.Rate * margin
	}
}

// Early reports whether so few marks were measured that the bucket is likely to have run over between them. A rate that was
// expected needs no such allowance, which is too much for a large bucket.
func (p *Pacer) Early() bool { return !p.expected && p.marks <= earlyMarks }

// Correct replaces the rate of the first mark.
func (p *Pacer) Correct(rate, cycle float64) {
	p.begin(rate, cycle)
	p.fast = p.Rate * margin
}

// Set begins a cycle at a rate that was learned without a refusal.
func (p *Pacer) Set(rate, cycle float64) {
	if !p.On {
		return
	}
	p.begin(rate, cycle)
	p.marks++
}

func (p *Pacer) begin(rate, cycle float64) {
	p.Rate, p.cycle = min(max(rate, leastRate), mostRate), cycle
	p.active, p.fast, p.model, p.spurs, p.back = 0, 0, 0, false, 0
}

// Sober ends fast growth that proved nothing.
func (p *Pacer) Sober() {
	if p.fast > 0 {
		p.fast, p.active, p.spurs = 0, flat*p.cycle, false
	}
}

// Hasten begins fast growth because the headers show that there is room.
func (p *Pacer) Hasten() {
	if p.On && p.fast == 0 {
		p.fast, p.spurs = p.Pace(), true
	}
}

// Slow ends what Hasten began, because the room is taken. The cycle goes on from where it was.
func (p *Pacer) Slow() {
	if p.spurs {
		p.fast, p.spurs = 0, false
	}
}

// SetCycle changes how long the cycle takes that has just begun.
func (p *Pacer) SetCycle(cycle float64) { p.cycle = cycle }

// SetSpan tells the length of the window in which the provider counts.
func (p *Pacer) SetSpan(span float64) { p.span = span }

// Outlasts reports whether more than was measured has been sent for longer
// than a window of the provider lasts.
func (p *Pacer) Outlasts(window float64) bool { return p.active > (flat+climb)*p.cycle+window }

// Next is how many seconds of activity it takes until more is sent than was measured.
func (p *Pacer) Next() float64 { return max(0, flat*p.cycle-p.active) }

// Rising reports whether the pace grows fast.
func (p *Pacer) Rising() bool { return p.fast > 0 }

// Hastened reports whether that is because the headers show that there is room.
func (p *Pacer) Hastened() bool { return p.spurs }

// Once reports whether the rate has been measured only once, and not been known before.
func (p *Pacer) Once() bool { return !p.expected && p.marks == 1 }
