package providertest

import "time"

// gate holds all hidden limits: a pure machine that takes the time as an argument. It is not safe for concurrent use.
type gate struct {
	limits        Limits
	refusalsCount bool
	origin        time.Time
	bucket        bucket // in use when limits.Rate is set
	window        window // in use when limits.Window is set
	pool          pool
	inFlight      int
}

// newGate returns a gate with valid limits and nothing spent.
func newGate(limits Limits, refusalsCount bool, now time.Time) *gate {
	g := &gate{refusalsCount: refusalsCount, origin: now}
	g.setLimits(limits, now)
	return g
}

func (g *gate) hasRate() bool   { return g.limits.Rate != Bucket{} }
func (g *gate) hasWindow() bool { return g.limits.Window != FixedWindow{} }

// setLimits puts new limits in place. Calls in flight stay, a bucket keeps its
// level and a window its count; a limit that was not there before starts unspent.
func (g *gate) setLimits(limits Limits, now time.Time) {
	hadRate, hadWindow := g.hasRate(), g.hasWindow()
	g.advance(now)
	g.limits = limits
	g.pool.setLimits(limits, now)
	if g.hasRate() {
		if hadRate {
			g.bucket.resize(limits.Rate)
		} else {
			g.bucket = newBucket(limits.Rate, now)
		}
	}
	if g.hasWindow() {
		if hadWindow {
			g.window.resize(limits.Window, now)
		} else {
			g.window = newWindow(limits.Window, g.origin, now)
		}
	}
}

// advance brings the limits in use up to now.
func (g *gate) advance(now time.Time) {
	if g.hasRate() {
		g.bucket.advance(now)
	}
	if g.hasWindow() {
		g.window.advance(now)
	}
	g.pool.advance(now)
}

// arrive judges one request that reserves cost. An admitted one is in flight
// until leave, and holds what it reserved until settle.
func (g *gate) arrive(now time.Time, cost Tokens) reason {
	refusal, _ := g.judge(now, cost)
	if refusal == notRefused {
		g.inFlight++
		g.pool.move(Tokens{}, cost)
	} else if !g.refusalsCount {
		return refusal
	}
	if g.hasRate() {
		g.bucket.spend()
	}
	if g.hasWindow() {
		g.window.spend()
	}
	return refusal
}

// leave ends one admitted call.
func (g *gate) leave() { g.inFlight-- }

// settle replaces what an admitted call reserved by what it used.
func (g *gate) settle(now time.Time, reserved, used Tokens) {
	g.advance(now)
	g.pool.move(reserved, used)
}

// judge returns whether a request would be refused at now, by which limit and for how long. The limit with the longest wait is
// reported. Concurrency, which has no known wait, is reported only if it is the only one. A request that is larger than a limit
// on tokens has no wait.
func (g *gate) judge(now time.Time, cost Tokens) (refusal reason, wait time.Duration) {
	g.advance(now)
	if !g.pool.fits(cost) {
		return refusedTooLarge, 0
	}
	if g.limits.Concurrency > 0 && g.inFlight >= g.limits.Concurrency {
		refusal = refusedConcurrency
	}
	if g.hasRate() {
		if d := g.bucket.wait(); d > wait {
			refusal, wait = refusedRate, d
		}
	}
	if g.hasWindow() {
		if d := g.window.wait(now); d > wait {
			refusal, wait = refusedWindow, d
		}
	}
	if r, d := g.pool.wait(cost); d > wait {
		refusal, wait = r, d
	}
	return refusal, wait
}

// quota is what the rate-limit headers declare of one limit, in requests or tokens.
type quota struct {
	limit, remaining int
	reset            time.Duration // to a full refill
}

// quota describes the tighter of the rate and the window at now; ok is false
// when neither is in use.
func (g *gate) quota(now time.Time) (q quota, ok bool) {
	g.advance(now)
	if g.hasRate() {
		q, ok = g.bucket.quota(), true
	}
	if g.hasWindow() {
		w := g.window.quota(now)
		if !ok || w.remaining < q.remaining || (w.remaining == q.remaining && w.reset > q.reset) {
			q, ok = w, true
		}
	}
	return q, ok
}
