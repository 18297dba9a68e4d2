package learn

import (
	"math"
	"math/rand/v2"
)

// Machine is the controller for one limiter. It is not safe for concurrent use.
type Machine struct {
	Flight Flight
	Calls  Pacer
	Tokens Pacer
	Door   Door

	quota       Quota
	tally       Tally
	claim       Claim
	noise       Noise
	foreign     Foreign
	collisions  Collisions
	calm        Calm
	peers       Peers
	spans       Spans
	overload    Overload
	rates       Memory
	tokensFrom  float64 // tokens per second before the trial of an earlier rate; 0: they were not paced
	levels      Memory
	higher      Memory // than a cap that others share, or that random rejections feign
	capRate     CapRate
	trust       Trust
	rtt         float64  // smoothed round-trip time of a call that was taken, seconds
	largeHits   evidence // refusals of calls that take more tokens than the mean
	noRoomUntil float64  // room in the headers is no reason for a faster pace before: marks agree about a lower rate

	// The last decision, and what has come since.
	epoch     epoch
	resumed   Point   // when the first call left after the last mark or closure, and what had been admitted by then; zero: none has
	reopens   bool    // the next call ends a pause in which nothing was admitted
	marked    bool    // a refusal, of this run or an earlier one, has shown the provider's bucket empty
	firstMark bool    // the first mark of a rate has just been made
	unused    float64 // seconds since then in which calls could leave, but none waited
	hits      int64   // refusals
	slowBy    float64 // no growth before

	// The last tick.
	at      float64
	due     float64            // when the next one is due, of a process that does not sleep
	slack   bool               // no call has waited since
	ended   float64            // when an answer was received last
	factors [waitKinds]float64 // of Retry-Afters

	// The call that was asked about last.
	unit     float64 // its tokens
	bound    Bound   // what held it back
	heldBack bool    // the pace of calls was the last to do so

	few    int // see Config.Few
	off    Rules
	luck   *rand.Rand
	decide func(Decision)
}

// Config is what a machine begins with.
type Config struct {
	Initial, Max float64        // calls in flight
	Blind        bool           // headers are ignored
	CallRate     float64        // calls per second that are known of; 0: none
	TokenRate    float64        // likewise tokens
	CallBurst    float64        // calls that may be sent besides at first, if CallRate is known
	TokenBurst   float64        // likewise tokens
	Few          int            // calls in flight up to which these may be sent
	Share        float64        // of the limit, where others like this machine use the rest; 0 and 1: all of it
	Seed         uint64         // of jitter
	Off          Rules          // left out, to see what they are worth
	Saved        Saved          // what another machine has learned
	Decide       func(Decision) // receives every decision; may be nil
}

// New returns a machine that begins at time 0.
func New(c Config) *Machine {
	m := &Machine{
		Flight: NewFlight(c.Initial, c.Max),
		rtt:    1, epoch: epoch{at: math.Inf(-1)}, few: c.Few, off: c.Off, decide: c.Decide,
		luck: rand.New(rand.NewPCG(c.Seed, 0)), //nolint:gosec // jitter, not a secret
	}
	m.Door = newDoor(c.Off)
	m.factors = [waitKinds]float64{1, 1, 1}
	m.calm = Calm{stretch: 1}
	m.rates = Memory{first: againFirst, rate: true}
	m.levels.first, m.higher.first = levelFirst, levelFirst
	m.higher.endless = true // a bound that hovers hardly grows by itself where calls are long
	m.quota.Blind, m.quota.off = c.Blind, c.Off
	m.Calls.off, m.Tokens.off = c.Off, c.Off
	m.claim.off = c.Off
	if c.CallRate > 0 {
		m.Calls.Expect(c.CallRate, Cycle(c.CallRate), true)
		m.Calls.Save(c.CallBurst)
	}
	if c.TokenRate > 0 {
		m.Tokens.Expect(c.TokenRate, Cycle(max(c.CallRate, 1)), true)
		m.Tokens.Save(c.TokenBurst)
	}
	if c.Share > 0 && c.Share < 1 {
		m.usePart(c.Share)
	}
	m.restore(&c.Saved)
	return m
}

// Call is one call that was admitted.
type Call struct {
	Seq    int64   // running number
	At     float64 // when it left
	Others int     // in flight at that moment
	Tokens float64 // reserved
	Total  float64 // tokens reserved by then, its own included
}
