package throttle

import (
	"context"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/internal/clock"
)

// SetFast says on which clocks calls are admitted without the lock.
func SetFast(on func(c clockwork.Clock, isReal bool) bool) (undo func()) {
	was := monotonic
	monotonic = func(c *clock.Clock) bool { return on(c.Underlying(), c.Real()) }
	return func() { monotonic = was }
}

// Open reports whether calls are admitted without the lock now.
func (l *Limiter) Open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == nil || l.open
}

// Governor is what Govern takes.
type Governor = governor

// WithGovernor adds a control law.
func WithGovernor(g Governor) Option { return func(l *Limiter) { l.governor = g } }

// Update runs f, unless nil, under the lock and then serves the queue.
func (l *Limiter) Update(f func(now time.Time)) {
	in := engine{l}
	now := in.Lock()
	defer in.Serve()
	if f != nil {
		f(now)
	}
}

// Look runs f under the lock.
func (l *Limiter) Look(f func(now time.Time)) {
	in := engine{l}
	now := in.Lock()
	defer in.Unlock()
	f(now)
}

// Methods that end in Locked are for functions that Update runs.
func (l *Limiter) CloseLocked(t time.Time, cause error)       { engine{l}.Close(t, cause) }
func (l *Limiter) ExcludeLocked(t time.Time, over *CostError) { engine{l}.Exclude(t, over) }
func (l *Limiter) OpenLocked(cause error)                     { engine{l}.Open(cause) }
func (l *Limiter) InFlightLocked() int                        { return engine{l}.InFlight() }
func (l *Limiter) TotalLocked() Sent                          { return engine{l}.Total() }

func (l *Limiter) SetMaxQueue(n int) { engine{l}.SetMaxQueue(n) }

func (l *Limiter) Reacquire(ctx context.Context, c Cost, seq int64) (Permit, error) {
	return engine{l}.Acquire(ctx, c, seq, nil)
}

func AcquireAll(ctx context.Context, limiters []*Limiter, c Cost, places []int64, permits []Permit) error {
	return engine{}.AcquireAll(ctx, limiters, c, places, permits, nil)
}

// AcquireTold is AcquireAll, or Acquire of one limiter, that calls o once the call is queued.
func AcquireTold(ctx context.Context, limiters []*Limiter, o interface{ Queued() }) error {
	if len(limiters) == 1 {
		_, err := engine{limiters[0]}.Acquire(ctx, Cost{}, 0, o)
		return err
	}
	return engine{}.AcquireAll(ctx, limiters, Cost{}, nil, make([]Permit, len(limiters)), o)
}

func TryAcquireAll(limiters []*Limiter, c Cost, permits []Permit) error {
	return engine{}.TryAcquireAll(limiters, c, permits)
}

// End ends the permit; f, unless nil, runs under the lock before the queue is served.
func (p Permit) End(actual Cost, f func(now time.Time, s Sent)) bool {
	return p.ended(func(in engine) *Sent { return in.End(p, actual) }, f)
}

func (p Permit) CancelThen(f func(now time.Time, s Sent)) bool {
	return p.ended(func(in engine) *Sent { return in.end(p, neverSent, nil) }, f)
}

func (p Permit) Retract(f func(now time.Time, s Sent)) bool {
	return p.ended(func(in engine) *Sent { return in.Retract(p) }, f)
}

func (p Permit) ended(end func(engine) *Sent, f func(now time.Time, s Sent)) bool {
	if p.l == nil {
		return false
	}
	in := engine{p.l}
	now := in.Lock()
	s := end(in)
	if s == nil {
		in.Unlock()
		return false
	}
	defer in.Serve()
	if f != nil {
		f(now, *s)
	}
	return true
}

func (p Permit) Sent() (Sent, bool) {
	if p.l == nil {
		return Sent{}, false
	}
	in := engine{p.l}
	in.Lock()
	defer in.Unlock()
	return in.Sent(p)
}
