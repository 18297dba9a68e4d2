package adaptive

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/decisions"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/learn"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/throttle"
)

// AIMD is additive increase, multiplicative decrease of the calls in flight
// (Chiu and Jain, 1989): a 429 multiplies their number by Backoff, at most once
// per epoch, and a run of successes raises it again. Only calls sent after the
// last change count, so the number changes at most once per round trip. After a
// Feedback.SlowDown it does not grow for 15 minutes.
type AIMD struct {
	Initial           int     // calls in flight at the start; default 5
	Min               int     // default 1
	Max               int     // default 20, at most 2^30
	Backoff           float64 // in (0, 1); default 0.5
	RecoveryThreshold int     // successes before an increase; default 10
	RecoveryFactor    float64 // of an increase, which is at least one call; default 1.2
}

const (
	mildBackoff  = 0.9 // for Overloaded: it is the service that is full, not our share
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 30 * time.Second
	widest       = 1 << 30                     // an unbounded Max: a float64 holds it exactly, an int on every platform
	slowDownFor  = learn.SlowFor * time.Second // how long nothing grows after a ramp too steep
	upwardJitter = 0.1                         // the gate opens up to a tenth later, so that processes do not return as one
)

// WithDefaults returns the controller with its defaults filled in.
func (a AIMD) WithDefaults() AIMD {
	or := func(n, def int) int {
		if n == 0 {
			return def
		}
		return n
	}
	orFloat := func(x, def float64) float64 {
		if x == 0 {
			return def
		}
		return x
	}
	a.Min, a.Max = or(a.Min, 1), min(or(a.Max, 20), widest)
	a.Initial = or(a.Initial, min(max(5, a.Min), a.Max))
	a.RecoveryThreshold = or(a.RecoveryThreshold, 10)
	a.Backoff, a.RecoveryFactor = orFloat(a.Backoff, 0.5), orFloat(a.RecoveryFactor, 1.2)
	return a
}

// Validate joins all problems, each a *fault.FieldError.
func (a AIMD) Validate() error {
	a = a.WithDefaults()
	p := invalid.Problems{Owner: "adaptive: AIMD"}
	if a.Min < 1 {
		p.Addf("Min", "%d is below 1", a.Min)
	}
	switch {
	case a.Max < a.Min: // no Initial would do
		p.Addf("Max", "%d is below Min, which is %d", a.Max, a.Min)
	case a.Initial < a.Min || a.Initial > a.Max:
		p.Addf("Initial", "%d is not between Min %d and Max %d", a.Initial, a.Min, a.Max)
	}
	if !(a.Backoff > 0 && a.Backoff < 1) {
		p.Addf("Backoff", "%g is not between 0 and 1", a.Backoff)
	}
	if a.RecoveryThreshold < 1 {
		p.Addf("RecoveryThreshold", "%d is below 1", a.RecoveryThreshold)
	}
	if !(a.RecoveryFactor >= 1) || math.IsInf(a.RecoveryFactor, 1) {
		p.Addf("RecoveryFactor", "%g is not a finite factor of at least 1", a.RecoveryFactor)
	}
	return p.Err()
}

// Start implements Law.
func (a AIMD) Start(_ time.Time, seed uint64) (State, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	a = a.WithDefaults()
	return &aimd{
		AIMD: a, window: float64(a.Initial),
		jitter: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // jitter, not a secret
	}, nil
}

// epoch is the moment of a change: calls sent after it belong to what follows.
type epoch struct {
	at  time.Time
	seq int64 // the last call sent before the change, for those sent at the same instant
}

// before goes by the time: the numbers of calls sent before a Reset are
// unknown to the new state, and a call of another limiter has none here.
func (e epoch) before(s throttle.Sent) bool {
	if s.At.Equal(e.at) {
		return s.Seq > e.seq
	}
	return s.At.After(e.at)
}

// aimd is the state of one limiter.
type aimd struct {
	AIMD
	window   float64   // a float, so that factors close to 1 add up
	acks     int       // successes since the last change
	cut      epoch     // the last cut
	change   epoch     // the last cut or growth
	sent     int64     // the last call's sequence number
	sentAt   time.Time // when it was admitted
	streak   int       // epochs with a refusal, without a success in between
	frozen   time.Time // nothing grows before
	reopened reopening.Gate
	jitter   *rand.Rand
	bound    string
	hits     int64
	cuts     int64
	raises   int64
	decided  decisions.Log
}

// Admit implements throttle.Governor.
func (a *aimd) Admit(now time.Time, _ throttle.Cost, inFlight int) time.Duration {
	if wait := a.reopened.Shut(now); wait > 0 {
		a.bound = reopening.Bound
		return wait
	}
	if inFlight >= int(a.window) {
		a.bound = "the learned concurrency"
		return throttle.Forever
	}
	if wait := a.reopened.Pace(now); wait > 0 {
		a.bound = "the gate that opens step by step"
		return wait
	}
	a.bound = ""
	return 0
}

// Slack implements throttle.Governor.
func (a *aimd) Slack(time.Time) { a.bound = "" }

// OnSend implements throttle.Governor.
func (a *aimd) OnSend(now time.Time, s throttle.Sent) {
	a.sent, a.sentAt = s.Seq, s.At
	a.reopened.Sent(now, a.window)
}

// OnResult implements State.
func (a *aimd) OnResult(now time.Time, s throttle.Sent, _ int, f Feedback) {
	switch f.Verdict {
	case OK:
		a.reopened.Answered(now.Sub(s.At))
		a.succeed(now, s)
	case Hit:
		a.refuse(now, s, &f, a.Backoff)
	case Overloaded:
		a.refuse(now, s, &f, mildBackoff)
	case Unclassified, Transient, Terminal, Unsent:
	}
}

// OnSignal implements State.
func (a *aimd) OnSignal(now time.Time, h *RateLimitHit) {
	s := throttle.Sent{At: h.SentAt}
	if s.At.After(now) { // another clock is ahead: it is within a call of this limiter, at the latest the last one
		s = throttle.Sent{At: a.sentAt, Seq: a.sent}
	}
	a.cutOnce(now, s, a.Backoff)
}

// View implements State.
func (a *aimd) View() View {
	return View{
		Concurrency: int(a.window), GateUntil: a.reopened.At(), Bound: a.bound,
		Hits: a.hits, Cuts: a.cuts, Recoveries: a.raises, Decisions: a.decided,
	}
}

func (a *aimd) succeed(now time.Time, s throttle.Sent) {
	if !a.change.before(s) {
		return
	}
	a.streak = 0
	if now.Before(a.frozen) {
		return
	}
	if a.acks++; a.acks < a.RecoveryThreshold {
		return
	}
	a.acks = 0
	if a.window >= float64(a.Max) {
		return
	}
	before := int(a.window)
	a.window = min(float64(a.Max), max(a.window+1, a.window*a.RecoveryFactor))
	a.change = epoch{now, a.sent}
	a.raises++
	a.decided.Add(decisions.Decision{At: now, Kind: string(event.LimiterRecovery), From: float64(before), To: float64(int(a.window))})
}

func (a *aimd) refuse(now time.Time, s throttle.Sent, f *Feedback, factor float64) {
	a.hits++
	if f.SlowDown {
		a.frozen = now.Add(slowDownFor)
	}
	if f.tooLong() {
		return
	}
	if a.cutOnce(now, s, factor) {
		a.streak++
	}
	retryAfter := f.RetryAfter
	if retryAfter <= 0 {
		retryAfter = min(maxBackoff, firstBackoff<<min(max(a.streak-1, 0), 16))
	}
	later := 1 + upwardJitter*a.jitter.Float64()
	a.reopened.CloseUntil(now, now.Add(time.Duration(float64(retryAfter)*later)))
}

// cutOnce lowers the window for the first refusal of an epoch, which it
// reports, and so begins the next.
func (a *aimd) cutOnce(now time.Time, s throttle.Sent, factor float64) bool {
	if !a.cut.before(s) {
		return false
	}
	a.acks = 0
	a.cut = epoch{now, a.sent}
	a.change = a.cut
	lower := max(float64(a.Min), a.window*factor)
	if lower < a.window {
		a.decided.Add(decisions.Decision{At: now, Kind: string(event.LimiterCut), From: float64(int(a.window)), To: float64(int(lower))})
		a.window = lower
		a.cuts++
	}
	return true
}
