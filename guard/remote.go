package guard

import (
	"context"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/throttle"
)

// remote is the state of a law that does not decide itself: another guard, such as
// one in another process, admits its calls and learns from them. Its Admit returns
// Forever until that guard has admitted the head of the queue. Pauses and closings
// are those of the other guard, which the state passes on through shown.
type remote interface {
	adaptive.State
	// Try asks for a call that does not wait. Admit then lets one such call pass until
	// done is called. It is called without the limiter's lock.
	Try(ctx context.Context, c throttle.Cost) (done func(), err error)
	// Reopen reopens the other guard; false if there will never be one again, and this
	// one stays closed. It is called without the limiter's lock.
	Reopen() (ok bool)
	// Reset has the other guard forget what it has learned. It is called without the
	// limiter's lock.
	Reset()
	// Standing returns a few words about where the calls are admitted.
	Standing() string
}

// ends are functions that are called together.
type ends []func()

func (e ends) call() {
	for _, end := range e {
		end()
	}
}

// tryRemote asks the guards that decide for the layers of k, for a call that does
// not wait. What it returns is called when the call was tried.
func (c *Call) tryRemote(ctx context.Context, k *attempt) (done ends, err error) {
	for i := range k.parts {
		r := k.parts[i].guard.remote
		if r == nil || k.parts[i].outer != nil {
			continue
		}
		if err := k.parts[i].guard.throttle.Check(c.cost); err != nil {
			return done, err
		}
		end, err := r.Try(ctx, c.cost)
		if err != nil {
			return done, err
		}
		done = append(done, end)
	}
	return done, nil
}

// Update runs f under the lock of the limiter, and then serves the queue. f does not
// call other methods than Close, Exclude and Open.
func (i shown) Update(f func(now time.Time)) { i.g.update(f) }

// Close fails all waiting and later calls with cause until then. It is called by f
// of Update.
func (i shown) Close(until time.Time, cause error) { i.g.engine.Close(until, cause) }

// Exclude fails waiting and later calls that cost more than over.Max until then. It is called by f of
// Update.
func (i shown) Exclude(until time.Time, over *throttle.CostError) { i.g.engine.Exclude(until, over) }

// Open undoes a Close or an Exclude with cause. It is called by f of Update.
func (i shown) Open(cause error) { i.g.engine.Open(cause) }

// Closed returns when a call next looks at a key that the provider has closed; zero
// if it is open.
func (i shown) Closed() (until time.Time) {
	i.g.look(func(time.Time) {
		if l := i.g.governor; l != nil && l.closed.Closed() {
			until = l.closed.Until()
		}
	})
	return until
}

// Memory returns what holds back all calls because of what the provider has answered,
// and the error of calls if there is one.
func (i shown) Memory() (m reopening.Memory, cause error) {
	i.g.look(func(now time.Time) {
		l := i.g.governor
		m = l.closed.Memory(now)
		m.Gate, m.Asked = max(0, l.view().GateUntil.Sub(now)), max(0, l.paused.Sub(now))
	})
	if m.Pause > 0 {
		cause = i.g.throttle.Stats().Closed
	}
	return m, cause
}

// Remember goes on from the Memory of another guard. A key that is closed here stays so.
func (i shown) Remember(m reopening.Memory, cause error) {
	i.g.free.Store(false)
	i.g.update(func(now time.Time) {
		l := i.g.governor
		gate, asked := m.Paused(now)
		if gate.After(now) {
			l.gate.CloseUntil(now, gate)
		}
		if asked.After(l.paused) {
			l.paused = asked
		}
		if l.closed.Closed() {
			return
		}
		if l.closed = m.Closure(now); l.closed.Closed() && cause != nil {
			i.g.engine.Close(l.closed.Until(), cause)
		}
	})
}

// Resume ends a Pause, without an event.
func (i shown) Resume() { i.g.throttle.Resume() }

// Once is Begin for a call that does not wait.
func (i shown) Once(c throttle.Cost) *Call {
	call := i.g.Begin(c)
	call.once = true
	return call
}

// Patient is Begin for a call that MaxWait does not bound: it is up to the process
// that makes the call how long it waits.
func (i shown) Patient(c throttle.Cost) *Call {
	call := i.g.Begin(c)
	call.patient = true
	return call
}

// Adopt counts a call as in flight that another guard has admitted, until end is
// called with what became of it.
func (i shown) Adopt(c throttle.Cost, began time.Time) (end func(adaptive.Feedback)) {
	i.g.free.Store(false)
	others := int(i.g.loose.started.Add(1) - i.g.loose.ended.Load() - 1)
	i.g.look(func(time.Time) { i.g.engine.Add(1) })
	l := &looseCall{Context: context.Background(), guard: i.g, cost: reserving(c)}
	return func(f adaptive.Feedback) {
		i.g.look(func(time.Time) { i.g.engine.Add(-1) })
		_, _ = l.made().landed(began, others, &f) // whether it is sent again is up to the guard that admitted it
	}
}

// Signal reports to the controller a 429 of a guard further in.
func (i shown) Signal(h *adaptive.RateLimitHit) { i.g.hear(context.Background(), h) }
