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
	requests *bucket
	tokens   *bucket
	minute   *minute
	log      *slidingLog
	luck     *rand.Rand
}

// New returns a provider whose buckets are full. luck decides about noise; it
// may be nil without.
func New(c Config, luck *rand.Rand) *Provider {
	return &Provider{
		Config: c, luck: luck,
		requests: newBucket(c.Requests), tokens: newBucket(c.Tokens), minute: newMinute(c.Minute), log: newLog(c.Log),
	}
}

// InFlight returns how many calls are in flight.
func (p *Provider) InFlight() int { return p.inFlight }

// Arrive decides about a call that reserves so many tokens. If it is admitted,
// Depart has to follow.
func (p *Provider) Arrive(now time.Duration, reserved int64) (Answer, Cause) {
	var a Answer
	cause := None
	if p.Noise > 0 && p.luck.Float64() < p.Noise {
		cause = Unlucky
	}
	if p.Cap > 0 && p.inFlight >= p.Cap {
		cause, a.Limit = Limited, p.capped()
	}
	if p.Overload > 0 && p.inFlight >= p.Overload {
		cause = Limited
	}
	if wait := p.rates(now, reserved); wait > 0 {
		cause, a.RetryAfter = Limited, p.told(wait)
		if p.Names == Everything {
			a.Limit = p.slower(now, reserved)
		}
	}
	if p.Names == RequestsOnly && cause != None {
		a.Limit = Requests
	}
	if a.Admitted = cause == None; a.Admitted {
		p.admit(now, reserved)
	} else if p.RefusalsCount {
		p.fine()
	}
	if p.Headers {
		p.meters(now, &a)
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
func (p *Provider) Wait(now time.Duration, reserved int64) time.Duration {
	if p.Cap > 0 && p.inFlight >= p.Cap || p.Overload > 0 && p.inFlight >= p.Overload-1 {
		return Forever
	}
	return p.rates(now, reserved)
}

// Apply changes the limits as of now.
func (p *Provider) Apply(now time.Duration, c Change) {
	if c.Cap > 0 {
		p.Cap = c.Cap
	}
	if c.Factor == 0 {
		return
	}
	for _, b := range []*bucket{p.requests, p.tokens} {
		if b != nil {
			b.scale(now, c.Factor)
		}
	}
	if p.minute != nil {
		p.minute.scale(c.Factor)
	}
}

// rates is how long until the rates admit a call.
func (p *Provider) rates(now time.Duration, reserved int64) (wait time.Duration) {
	if p.requests != nil {
		wait = p.requests.wait(now, 1)
	}
	if p.tokens != nil {
		wait = max(wait, p.tokens.wait(now, float64(reserved)))
	}
	if p.log != nil {
		wait = max(wait, p.log.wait(now))
	}
	if p.minute != nil {
		wait = max(wait, p.minute.wait(now))
	}
	return wait
}

func (p *Provider) admit(now time.Duration, reserved int64) {
	p.inFlight++
	if p.requests != nil {
		p.requests.take(1)
	}
	if p.tokens != nil {
		p.tokens.take(float64(reserved))
	}
	if p.log != nil {
		p.log.take(now)
	}
	if p.minute != nil {
		p.minute.take()
	}
}

// fine makes a refused call count. Tokens and the log only know calls that were processed.
func (p *Provider) fine() {
	if p.requests != nil {
		p.requests.fine(p.Debt)
	}
	if p.minute != nil {
		p.minute.take()
	}
}

// capped is what is said of the cap.
func (p *Provider) capped() Limit {
	if p.Names == Everything || p.Names == CapByHeaders && p.Headers {
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
	switch p.RetryAfter {
	case Silent:
		return 0
	case WholeSeconds:
		wait = (wait + time.Second - 1).Truncate(time.Second)
	case Exact:
	}
	if p.Lie > 0 {
		wait = time.Duration(float64(wait) * p.Lie)
	}
	return wait
}

func (p *Provider) meters(now time.Duration, a *Answer) {
	if p.requests != nil {
		a.Requests = p.requests.meter()
	}
	if p.minute != nil {
		a.Requests = p.minute.meter(now)
	}
	if p.tokens != nil {
		a.Tokens = p.tokens.meter()
	}
}
