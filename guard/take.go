package guard

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// queueShared is queue for a guard with a store. A call is admitted by its
// layers here first, so that the store is asked only for what fits in this
// process. Refused, it gives everything back and waits with its place at the
// layer that the store names.
func (c *Call) queueShared(ctx context.Context, k *attempt, o onlooker) error {
	var w watching
	defer w.stop()
	for {
		if err := c.tooLate(ctx, k); err != nil {
			return err
		}
		if err := c.queue(ctx, k, o); err != nil {
			return err
		}
		if o != nil { // behind here the store decides which call is first
			o.Queued()
		}
		no, err := c.take(ctx, k, false)
		if no == nil {
			return err
		}
		if no.layer != nil {
			w.begin(ctx, no.layer)
		}
	}
}

// tryShared asks the store once about an attempt that was admitted here.
func (c *Call) tryShared(k *attempt) error {
	no, err := c.take(k.Context, k, true)
	switch {
	case err != nil:
		return err
	case no == nil:
		return nil
	case no.layer == nil: // a pause has come up meanwhile
		b := c.guard.bound(c.cost)
		return &throttle.LimitedError{Limiter: c.guard.name, RetryAfter: c.guard.retryAfter(b.Wait, time.Second), Bound: b}
	}
	no.layer.share.refused.Add(1)
	return &throttle.LimitedError{Limiter: no.layer.name, RetryAfter: c.guard.retryAfter(no.bound.Wait, time.Second), Bound: no.shown()}
}

// denial is a store's no to one call.
type denial struct {
	layer *Guard // nil: it was this process that changed its mind
	bound throttle.Bound
	cost  int64 // as of a refusal
	news  int64 // when the store was asked
}

// shown is what held the call back, for its caller.
func (d *denial) shown() throttle.Bound {
	return throttle.Bound{Kind: throttle.BoundByStore, Window: d.bound.Window, Wait: d.bound.Wait}
}

// take asks the store about an attempt that was admitted here. If k is not
// admitted after all, it holds nothing; then no or err says why.
func (c *Call) take(ctx context.Context, k *attempt, trying bool) (no *denial, err error) {
	n := c.guard.chain
	kept := false
	defer func() { // also after runtime.Goexit in the store
		if !kept {
			c.retract(k, 0, no, trying)
		}
	}()
	d := c.demands(k)
	gate := c.gate()
	if len(d.request.Demands) > 0 {
		var grant quota.Grant
		err = n.within(ctx, func(ctx context.Context, s quota.Store) (err error) {
			grant, err = s.Take(ctx, d.request)
			return err
		})
		if err == nil {
			for _, l := range d.layers {
				l.share.granted(grant.Degraded)
			}
		}
		if err == nil && grant.Wait > 0 {
			return d.denied(&grant), nil
		}
		if err == nil {
			no, err = c.stopped(ctx, k, gate)
		} else {
			err = c.notTaken(ctx, err)
		}
		if no != nil || err != nil {
			if grant.Ticket.ID != "" {
				d.layers[0].share.tellEnd(grant.Ticket, true, nil, nil)
			}
			return no, err
		}
		if grant.Ticket.ID != "" { // else nothing was taken
			k.hold(newTicket(&d, grant.Ticket), d.parts)
		}
	}
	kept = true
	for i := range k.parts {
		if p := &k.parts[i]; p.outer == nil && p.guard.share != nil {
			p.guard.update(func(time.Time) { p.guard.share.answered(false) })
		}
	}
	return nil, nil
}

// notTaken is what a call fails with after an error of the store.
func (c *Call) notTaken(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, throttle.ErrCost):
		return err
	}
	return c.guard.chain.failed(c.guard, err)
}

// stopped is why a call that the store has just granted is not sent: its
// context has ended, or a layer was closed or paused meanwhile.
func (c *Call) stopped(ctx context.Context, k *attempt, gate time.Time) (no *denial, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for i := range k.parts {
		if k.parts[i].outer != nil {
			continue
		}
		l := k.parts[i].guard
		s := l.throttle.Stats()
		if s.Closed != nil {
			return nil, s.Closed
		}
		if s.PausedUntil.After(l.clock.Now()) {
			no = &denial{}
		}
	}
	if c.gate().After(gate) {
		no = &denial{}
	}
	return no, nil
}

// gate returns when the pause after a rate-limit response ends.
func (c *Call) gate() time.Time {
	if l := c.guard.learner; l != nil {
		return l.view().GateUntil
	}
	return time.Time{}
}

// demanded is what an attempt asks of the store.
type demanded struct {
	request quota.Request
	parts   []int    // of the attempt, by demand
	layers  []*Guard // the same
	news    []int64
}

// demands is a demand for each layer that shares, and of which k has nothing yet.
func (c *Call) demands(k *attempt) (d demanded) {
	for i := range k.parts {
		p := &k.parts[i]
		if p.outer != nil || p.guard.share == nil || k.claim(i).ticket != nil {
			continue
		}
		d.request.Demands = append(d.request.Demands, quota.Demand{
			Key: p.guard.share.key, Limits: p.guard.current.Load().limits, Cost: c.cost,
		})
		d.parts, d.layers, d.news = append(d.parts, i), append(d.layers, p.guard), append(d.news, p.guard.share.news.Load())
	}
	d.request.Lease = leaseTime
	return d
}

// denied is the refusal in the terms of this process.
func (d *demanded) denied(g *quota.Grant) *denial {
	i := g.Demand
	if i < 0 || i >= len(d.layers) {
		i = 0
	}
	no := &denial{layer: d.layers[i], bound: g.Bound, news: d.news[i]}
	no.bound.Wait = g.Wait
	if g.Bound.Kind == throttle.BoundByWindow {
		no.cost = d.request.Demands[i].Cost.Of(g.Bound.Window.Unit())
	}
	return no
}

// retract undoes an admission by the layers here, from the i-th on; the call keeps its place.
func (c *Call) retract(k *attempt, i int, no *denial, trying bool) {
	if i == len(k.parts) {
		return
	}
	defer c.retract(k, i+1, no, trying) // also after a law that ends the goroutine
	p := &k.parts[i]
	if p.outer != nil {
		return
	}
	share, asked := p.guard.share, true
	p.guard.update(func(now time.Time) {
		defer func() {
			if share != nil && asked {
				share.answered(no != nil)
			}
		}()
		s := p.guard.engine.Retract(p.permit)
		if asked = s != nil; !asked {
			return
		}
		c.place(k, i, s.Seq)
		if share != nil && no != nil && no.layer == p.guard && !trying {
			share.refuse(now, no)
		}
	})
}

// tooLate is the error of a call that the store is known to refuse until its
// context ends. Slots, and what calls elsewhere may give back, can be had at any time.
func (c *Call) tooLate(ctx context.Context, k *attempt) (err error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	for i := range k.parts {
		l := k.parts[i].guard
		if l.share == nil || k.parts[i].outer != nil || !l.clock.Real() {
			continue
		}
		l.look(func(now time.Time) {
			wait, left := l.share.hold(now, c.cost), deadline.Sub(now)
			if wait != throttle.Forever && wait > left && l.share.held.certain() {
				err = &throttle.DeadlineError{Limiter: l.name, Wait: wait, Left: left}
			}
		})
		if err != nil {
			l.share.refused.Add(1)
			return err
		}
	}
	return nil
}

// certain reports whether the wait cannot become shorter.
func (r *refusal) certain() bool {
	return r.bound.Kind == throttle.BoundByPause ||
		r.bound.Kind == throttle.BoundByWindow && r.bound.Window.Unit() == throttle.Requests
}
