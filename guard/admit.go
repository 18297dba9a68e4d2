package guard

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// begin admits an attempt by all layers and breakers. With an error k holds nothing.
func (c *Call) begin(ctx context.Context, k *attempt) (err error) {
	returned := false
	defer func() {
		if !returned { // an observer or a law has ended the goroutine
			k.cancel(nil)
		}
	}()
	if err = c.enter(ctx, k); err == nil {
		err = c.allowed(k)
	}
	returned = true
	return err
}

// cancel ends an attempt that was admitted and is not sent because of err.
func (k *attempt) cancel(err error) {
	defer k.cancelBreakers(nil)
	var r result
	f := adaptive.Feedback{Verdict: adaptive.Unsent, Err: err}
	k.close(&f)
	k.finish(&r, &f, false)
}

// enter admits an attempt by all layers. With an error k holds nothing.
func (c *Call) enter(ctx context.Context, k *attempt) error {
	g := c.guard
	watcher := inflight.WatcherOf(ctx)
	c.wait.watcher = watcher
	measured := c.wait.observe(ctx, g, c.request)
	tells := c.wait.observed && c.wait.hit == nil && g.tellsOfWaits()
	var bound throttle.Bound
	if _, line := watcher.(inflight.Line); tells || watcher != nil && !line {
		bound = g.bound(c.cost)
	}
	if watcher != nil {
		watcher.Waits()
	}
	var asked time.Time
	if tells || measured {
		asked = g.clock.Now()
	}
	err := c.acquire(ctx, k)
	if watcher != nil && err == nil {
		watcher.Admitted(bound)
	}
	g.emitOverdue(ctx) // not earlier: tasks behind this one do not wait for an observer
	if tells {
		g.emitWaited(ctx, bound, g.clock.Now().Sub(asked), err)
	}
	if measured {
		c.wait.queued += max(0, g.clock.Now().Sub(asked))
		if err != nil {
			g.emitCall(ctx, event.Call{Queued: c.wait.queued, Outcome: event.Unadmitted})
		}
	}
	return err
}

// observe records whether the call is observed, and reports whether its wait has to be
// measured. A transparent guard leaves that to the guards inside of its calls, but
// not for the request of a transport, which has none inside.
func (w *waiting) observe(ctx context.Context, g *Guard, request bool) (measured bool) {
	o := event.From(ctx)
	w.observed, w.queued = o != nil, -1
	measured = emit.WantsCalls(o)
	for _, l := range g.layers {
		w.observed = w.observed || l.observer != nil
		measured = measured || l.calls
	}
	if measured = measured && (request || !g.transparent()); measured {
		w.queued = 0
	}
	return measured
}

// acquire fills in the parts of k: from the enclosing calls on the same layers,
// and from the others.
func (c *Call) acquire(ctx context.Context, k *attempt) error {
	if err := c.guard.conflict(); err != nil {
		return err
	}
	k.split(c.guard.layers)
	if len(k.parts) == 0 && ctx.Err() != nil { // no limit looks at it
		return context.Cause(ctx)
	}
	if c.wait.hit == nil {
		c.takeOver(ctx, k)
	}
	if k.missing() == 0 {
		return nil
	}
	var err error
	if c.once {
		err = c.try(ctx, k)
	} else {
		err = c.queued(ctx, k)
	}
	if err == nil {
		return nil
	}
	k.handBack()
	return c.turnedAway(ctx, err)
}

// queued waits for the layers that are missing, and for the store if they have one.
func (c *Call) queued(ctx context.Context, k *attempt) error {
	if err := c.gated(ctx, k); err != nil {
		return err
	}
	waiting, done := c.bounded(ctx)
	defer done()
	if line, ok := c.wait.watcher.(inflight.Line); ok {
		ahead := c.wait.hit != nil || attemptOf(ctx) != nil // what the call around it holds may be what the line waits for
		return c.inLine(waiting, k, line.Turn(c.guard.name, ahead))
	}
	return c.ask(waiting, k, c.wait.watcher)
}

// ask waits in the queues of the limits. o may be nil.
func (c *Call) ask(ctx context.Context, k *attempt, o onlooker) error {
	if c.guard.chain == nil {
		return c.queue(ctx, k, o)
	}
	return c.queueShared(ctx, k, o)
}

// inLine asks whenever it is the turn of the call, until it is admitted.
func (c *Call) inLine(ctx context.Context, k *attempt, t inflight.Turn) error {
	for {
		asking, err := t.Await(ctx)
		if err != nil {
			return err
		}
		if again, err := c.askOnce(asking, k, t); !again {
			return err
		}
	}
}

var errGone = errors.New("guard: the goroutine ended during the admission")

// askOnce is ask in a turn.
func (c *Call) askOnce(ctx context.Context, k *attempt, t inflight.Turn) (again bool, err error) {
	err = errGone
	defer func() { again = t.Asked(err) }() // also if a law panics or an observer ends the goroutine
	err = c.ask(ctx, k, t)
	return again, err
}

// try acquires the layers that are missing now, or none.
func (c *Call) try(ctx context.Context, k *attempt) error {
	if err := intake.Ended(ctx); err != nil {
		return err
	}
	asked, err := c.tryRemote(ctx, k)
	defer asked.call()
	if err != nil {
		return err
	}
	limiters, permits := k.lacking()
	done := c.guard.tries()
	err = c.guard.layers[0].engine.TryAcquireAll(limiters, c.cost, permits)
	done()
	if err != nil {
		return err
	}
	k.fill(permits)
	if c.guard.chain == nil {
		return nil
	}
	return c.tryShared(k)
}

// split makes a part for each layer.
func (k *attempt) split(layers []*Guard) {
	switch n := len(layers); {
	case n == 1:
		k.parts = k.only[:]
	case n <= mostFew:
		k.few = new(fewLayers)
		k.parts = k.few.parts[:n]
	default:
		k.parts = make([]part, n)
	}
	for i, l := range layers {
		k.parts[i].guard = l
	}
}
