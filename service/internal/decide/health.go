package decide

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/rules"
	"github.com/headrace/headrace/throttle"
)

const (
	probeEvery = time.Second
	// probeSoon is used while the breaker is not closed, so that the store is used again
	// soon after it is back, however long the breaker would be open.
	probeSoon = 500 * time.Millisecond
	// outageEvery is how often Options.Outage is called while the store fails, and Options.Damage at most.
	outageEvery = time.Minute
)

// probe is what the service knows of its store without a caller.
type probe struct {
	key string // of the goroutine of the probes

	mu      sync.Mutex // guards all below
	asked   bool
	latency time.Duration
	err     error
	row     int // successes

	// Of the goroutine of the probes.
	down bool          // Options.Outage was called with an error
	told time.Duration // when
}

// probes asks the store until Close: whether it answers, and what its time is.
func (d *Decider) probes() {
	for {
		d.probeOnce()
		every := probeEvery
		if d.fallback.Stats().Breaker.State != breaker.Closed {
			every = probeSoon
		}
		over := make(chan struct{})
		timer := d.clock.AfterFunc(every, func() { close(over) })
		select {
		case <-over:
		case <-d.life.Done():
			timer.Stop()
			return
		}
	}
}

func (d *Decider) probeOnce() {
	ctx, cancel := context.WithTimeoutCause(d.life, d.runtime.Timeout, errTimeout)
	defer cancel()
	const enough = 1 << 20
	before := d.clock.Elapsed()
	g, err := take(ctx, d.raw, quota.Request{Demands: []quota.Demand{{
		Key: d.probe.key, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(enough, enough).Of(throttle.Points)}}, Cost: one,
	}}})
	after := d.clock.Elapsed()
	p := &d.probe
	p.mu.Lock()
	p.asked, p.err, p.latency = true, err, after-before
	if p.row++; err != nil {
		p.row = 0
	}
	row := p.row
	p.mu.Unlock()
	d.tell(after, row, err)
	if unreadable(err) {
		d.probe.rename() // the store works
	}
	if err != nil {
		return
	}
	if g.Ticket.ID != "" {
		d.skew.sample(before, after, g.Ticket.At)
	}
	if row >= d.runtime.Breaker.Successes && d.fallback.Stats().Breaker.State != breaker.Closed {
		d.fallback.Reset()
	}
}

// rename has the next probe ask for a key that is new to the store.
func (p *probe) rename() { p.key = prefix + "probe/" + rand.Text()[:13] }

// tell calls Options.Outage, if there is news.
func (d *Decider) tell(now time.Duration, row int, err error) {
	p := &d.probe
	switch {
	case d.outage == nil || d.life.Err() != nil:
	case err != nil && (!p.down || now-p.told >= outageEvery):
		p.down, p.told = true, now
		d.outage(err)
	case err == nil && p.down && row >= d.runtime.Breaker.Successes:
		p.down = false
		d.outage(nil)
	}
}

// tellDamage calls Options.Damage, unless it was called a moment ago: there may be thousands of checks a second.
func (d *Decider) tellDamage(err error) {
	now, last := int64(max(1, d.clock.Elapsed())), d.damaged.Load()
	if d.damage != nil && (last == 0 || now-last >= int64(outageEvery)) && d.damaged.CompareAndSwap(last, now) {
		d.damage(err)
	}
}

// take asks a store in a goroutine of ours, where one that panics would end the process.
func take(ctx context.Context, s quota.Store, r quota.Request) (g quota.Grant, err error) {
	defer panics.Catch(&err)
	return s.Take(ctx, r)
}

// Health returns how the service is, from what it last saw. It does not ask the store.
func (d *Decider) Health(context.Context) Health {
	b := d.fallback.Stats().Breaker
	d.probe.mu.Lock()
	asked, err, latency := d.probe.asked, d.probe.err, d.probe.latency
	d.probe.mu.Unlock()
	h := Health{
		Status: "healthy", StoreReachable: asked && err == nil && b.State == breaker.Closed, RetryAfter: b.RetryAfter,
		Skewed: d.skew.wait(d.clock.Elapsed()), Latency: latency, Problem: d.problem(), Breaker: State(b.State.String()),
	}
	h.Jumps, _ = d.skew.stats()
	switch {
	case h.Skewed > 0:
		h.Reason = ClockSkew
	case b.State != breaker.Closed:
		h.Reason = BreakerOpen
	case err != nil:
		h.Reason = StorageUnavailable
	case h.Problem != "":
		h.Reason = ConfigError
	}
	switch {
	case h.Reason == "":
	case h.Reason == ClockSkew, h.Reason != ConfigError && d.runtime.Outage == rules.Closed:
		h.Status = "unhealthy"
	default:
		h.Status = "degraded"
	}
	return h
}

// Stats returns what became of the requests to the store.
func (d *Decider) Stats() quota.FallbackStats { return d.fallback.Stats() }
