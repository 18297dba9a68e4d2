package throttle

import (
	"context"
	"time"

	"github.com/headrace/headrace/internal/hook"
)

func init() { //nolint:gochecknoinits // see package hook
	hook.Register(func(l *Limiter) any { return engine{l} })
}

// engine is what package guard uses of a Limiter besides its public methods. Its
// methods are exported, so guard can name them in an interface, on a type that is
// not, so nothing else can. Those that say so are called between Lock and Unlock,
// or Lock and Serve.
type engine struct{ l *Limiter }

// Govern adds a control law, before the first call.
func (e engine) Govern(g governor) {
	e.l.lock()
	defer e.l.unlock()
	o := *e.l.options
	o.governor = g
	e.l.options, e.l.simple = &o, false
}

// SetMaxQueue bounds how many calls may wait; 0 means no bound. One more is
// refused with a *LimitedError.
func (e engine) SetMaxQueue(n int) {
	e.l.lock()
	defer e.l.unlock()
	e.l.mostQueued = n
}

// Lock takes the limiter's lock. No method of the Limiter may be called until
// Unlock or Serve.
func (e engine) Lock() (now time.Time) {
	e.l.lock()
	return e.l.clock.At(e.l.nowLocked())
}

// Unlock gives up the lock.
func (e engine) Unlock() { e.l.unlock() }

// Serve serves the queue, because something has changed, and gives up the lock.
func (e engine) Serve() {
	defer e.l.unlock() // also if a governor ends the goroutine
	e.l.pumpLocked(e.l.last)
}

// Sent returns what was noted at the admission; false if the permit has ended.
// Under the lock.
func (e engine) Sent(p Permit) (Sent, bool) {
	if p.l != e.l {
		return Sent{}, false
	}
	r := &e.l.records[p.slot]
	return e.l.sent(&r.admission), r.gen == p.gen
}

// End ends the permit like Settle, or like Release if actual is the zero Cost;
// nil if it had ended before. Under the lock: no call is admitted before Serve, and
// the result is not valid after that.
func (e engine) End(p Permit, actual Cost) *Sent {
	if actual.Requests|actual.Tokens|actual.Input|actual.Output|actual.Points == 0 {
		return e.end(p, asReserved, nil)
	}
	return e.end(p, asUsed, &actual)
}

// Retract ends the permit of a call that was never sent: everything is given back,
// and Stats does not count it. Under the lock.
func (e engine) Retract(p Permit) *Sent {
	s := e.end(p, neverSent, nil)
	if s != nil {
		e.l.stats.Admitted = max(0, e.l.stats.Admitted-1)
	}
	return s
}

func (e engine) end(p Permit, how ending, actual *Cost) *Sent {
	if p.l != e.l {
		return nil
	}
	var used amounts
	used.use(actual)
	a := e.l.endLocked(e.l.last, p, how, &used)
	if a == nil {
		return nil
	}
	e.l.describe(&e.l.ended, a) // each function that returned a copy would cost as much as all else here
	return &e.l.ended
}

// Open undoes a Close or an Exclude with cause, unless another one holds. Under the lock.
func (e engine) Open(cause error) {
	if cause != nil && e.l.closed.cause == cause { //nolint:errorlint // it is the one that was given
		e.l.closed = closing{}
	}
}

// Close closes the limiter until t or, if that is zero, until Reopen. Of several
// reasons the one that holds longest counts. Under the lock.
func (e engine) Close(t time.Time, cause error) { e.l.closeLocked(t, cause) }

// Exclude rejects waiting and later calls that cost more than over.Max of its Unit until t, unless the limiter is closed. Their
// error is over, with their own Amount. Under the lock.
func (e engine) Exclude(t time.Time, over *CostError) { e.l.excludeLocked(t, over) }

// InFlight is how many permits have not ended, and calls that were added. Under the lock.
func (e engine) InFlight() int { return e.l.inFlight + e.l.added }

// Add adds n calls to those in flight, as a control law sees them: they were admitted
// elsewhere. Under the lock.
func (e engine) Add(n int) { e.l.added += n }

// Total is what was admitted so far, with the number of the last call. Under the lock.
func (e engine) Total() Sent { return Sent{Seq: e.l.seq, Total: e.l.total.cost()} }

// Acquire is that of the Limiter. A call that was admitted before, with sequence
// number seq, and has to be sent again waits ahead of all that were admitted later.
// o is called if the call has to wait, once it has its place; nil and 0 mean none.
func (e engine) Acquire(ctx context.Context, c Cost, seq int64, o onlooker) (Permit, error) {
	if seq == 0 {
		seq = lastPlace
	}
	return e.l.acquire(ctx, c, seq, true, o)
}

// AcquireAll is acquireAll for limiters, of which this is one.
func (engine) AcquireAll(ctx context.Context, limiters []*Limiter, c Cost, places []int64, permits []Permit, o onlooker) error {
	return acquireAll(ctx, limiters, c, places, permits, o)
}

// Earliest is the least that a call would wait for limiters, of which this is one,
// behind all that wait now.
func (engine) Earliest(limiters []*Limiter, c Cost) (wait time.Duration) {
	a := c.amounts()
	var few [4]*Limiter
	order := locked(few[:0], limiters)
	defer unlockAll(order)
	own := lineOf(order)
	for _, l := range order {
		wait = max(wait, l.earliestLocked(l.nowLocked(), &a, lastPlace, own, false))
	}
	return wait
}

// TryAcquireAll is tryAcquireAll for limiters, of which this is one.
func (engine) TryAcquireAll(limiters []*Limiter, c Cost, permits []Permit) error {
	return tryAcquireAll(limiters, c, permits)
}
