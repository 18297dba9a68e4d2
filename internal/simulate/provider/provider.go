package provider

import (
	"math"
	"math/rand/v2"
	"time"
)

// Forever is a wait that time does not end.
const Forever time.Duration = math.MaxInt64

// Provider is the state of a provider. Time may not step back.
type Provider struct {
	Config
	inFlight int
	limits   []limit // on calls
	shown    rate    // the one that headers describe, or nil
	tokens   *bucket
	faults   []fault
	luck     *rand.Rand
}

// New returns a provider with full buckets. luck decides about errors and
// about what is at random in rejections; it may be nil if nothing is.
func New(c Config, luck *rand.Rand) *Provider {
	p := &Provider{Config: c, luck: luck, tokens: newBucket(c.Tokens)}
	p.limits, p.shown = c.limits()
	for _, e := range c.Errors {
		p.faults = append(p.faults, newFault(e, luck))
	}
	return p
}

// InFlight returns how many calls are in flight.
func (p *Provider) InFlight() int { return p.inFlight }

// Arrive decides about a call that reserves so many tokens. If it is admitted,
// Depart has to follow.
func (p *Provider) Arrive(now time.Duration, reserved int64) (Answer, Cause) {
	a, cause := p.decide(now, reserved)
	if p.Names == RequestsOnly && cause != None {
		a.Limit = Requests
	}
	if a.Admitted = cause == None; a.Admitted {
		p.admit(now, reserved)
	} else if p.RefusalsCount {
		p.fine(now)
	}
	if p.Headers && !p.Tale.Absent {
		p.meters(now, &a)
	}
	return a, cause
}

// decide goes from what a service checks last to what it checks first.
func (p *Provider) decide(now time.Duration, reserved int64) (a Answer, cause Cause) {
	fault := p.strike(now)
	if fault != nil {
		a, cause = fault.answer(), Unlucky
	}
	if p.Cap > 0 && p.inFlight >= p.Cap {
		a, cause = Answer{Status: p.Status, Limit: p.capped()}, Limited
	}
	if p.Overload > 0 && p.inFlight >= p.Overload {
		a, cause = p.Shed.answer(), Limited
	}
	if wait := p.rates(now, reserved); wait > 0 {
		a.Status, a.RetryAfter, cause = p.Status, p.told(wait), Limited
		if p.Names == Everything {
			a.Limit = p.slower(now, reserved)
		}
	}
	if fault != nil && fault.blocks() {
		a, cause = fault.answer(), Limited
	}
	return a, cause
}

// Depart ends an admitted call that really used so many tokens of those it reserved.
func (p *Provider) Depart(now time.Duration, reserved, used int64) {
	p.inFlight--
	if p.tokens != nil {
		p.tokens.settle(now, float64(reserved-used))
	}
}

// Strain is what the latency of a call that was just admitted is multiplied by.
func (p *Provider) Strain() float64 {
	if p.Knee == 0 {
		return 1
	}
	return max(1, float64(p.inFlight)/float64(p.Knee))
}

// Wait is for the omniscient: how long until a call would be admitted, Forever
// if another one has to depart first. It leaves one place before an overload.
// Errors at random are not foreseen; see Lucky.
func (p *Provider) Wait(now time.Duration, reserved int64) time.Duration {
	if p.Cap > 0 && p.inFlight >= p.Cap || p.Overload > 0 && p.inFlight >= p.Overload-1 {
		return Forever
	}
	wait := p.rates(now, reserved)
	for i := range p.faults {
		if f := &p.faults[i]; f.blocks() {
			wait = max(wait, f.left(now))
		}
	}
	return wait
}

// Apply changes the limits as of now.
func (p *Provider) Apply(now time.Duration, c Change) {
	if c.Become != nil {
		p.become(*c.Become)
	}
	if c.Cap > 0 {
		p.Cap = c.Cap
	}
	if c.Factor == 0 {
		return
	}
	for _, l := range p.limits {
		l.scale(now, c.Factor)
	}
	if p.tokens != nil {
		p.tokens.scale(now, c.Factor)
	}
}

// become makes it another provider, with full buckets.
func (p *Provider) become(c Config) {
	c.Headers = p.Headers
	other := New(c, p.luck)
	other.inFlight = p.inFlight
	*p = *other
}

// rates is how long until the rates admit a call.
func (p *Provider) rates(now time.Duration, reserved int64) (wait time.Duration) {
	for _, l := range p.limits {
		if !l.hollow {
			wait = max(wait, l.wait(now))
		}
	}
	if p.tokens != nil {
		wait = max(wait, p.tokens.wait(now, float64(reserved)))
	}
	return wait
}

func (p *Provider) admit(now time.Duration, reserved int64) {
	p.inFlight++
	for _, l := range p.limits {
		l.take(now)
	}
	if p.tokens != nil {
		p.tokens.take(float64(reserved))
	}
}

// fine makes a refused call count.
func (p *Provider) fine(now time.Duration) {
	for _, l := range p.limits {
		l.fine(now, p.Debt)
	}
}

// capped is what is said of the cap.
func (p *Provider) capped() Limit {
	if p.Names == Everything || p.Names == CapByHeaders && p.Headers && !p.Tale.Absent {
		return Concurrency
	}
	return Unnamed
}

// slower is which of the rates takes longest to admit a call.
func (p *Provider) slower(now time.Duration, reserved int64) Limit {
	if p.tokens != nil && p.tokens.wait(now, float64(reserved)) == p.rates(now, reserved) {
		return Tokens
	}
	return Requests
}

// told is what the provider says of a wait.
func (p *Provider) told(wait time.Duration) time.Duration {
	if p.Constant > 0 {
		wait = p.Constant
	}
	switch p.RetryAfter {
	case Silent:
		return 0
	case Sometimes:
		if p.luck.IntN(2) == 0 {
			return 0
		}
		wait = wholeSeconds(wait)
	case WholeSeconds:
		wait = wholeSeconds(wait)
	case Exact:
	}
	if p.Lie > 0 {
		wait = time.Duration(float64(wait) * p.Lie)
	}
	return wait
}

func (p *Provider) meters(now time.Duration, a *Answer) {
	if p.shown != nil {
		a.Requests = p.Tale.calls(p.shown.meter(now))
	}
	if p.tokens != nil {
		a.Tokens = p.Tale.tokens(p.tokens.meter(now, 60))
	}
}
