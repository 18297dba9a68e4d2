package throttle

import (
	"context"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/internal/clock"
)

// Limiter enforces Limits in this process. A call gets its slot and its share
// of every window at one instant or not at all, so waiting for a window never
// holds a slot. Callers are served strictly first in, first out: nobody
// overtakes the head of the queue, also not with a smaller cost. All methods
// are safe for concurrent use.
type Limiter struct {
	name     string
	clock    clock.Clock
	governor Governor

	mu       sync.Mutex // guards everything below
	last     instant
	limit    int // concurrency, 0: unbounded
	gauges   []gauge
	inFlight int
	paused   instant // nobody goes before it
	closed   closing // nobody goes at all
	queue    queue
	timer    clockwork.Timer // for the head only
	records  []record
	free     []uint32
	seq      int64
	total    Cost
	stats    Stats
}

// Option is a setting of New.
type Option func(*Limiter)

// WithName names the limiter in errors, events and statistics.
func WithName(name string) Option { return func(l *Limiter) { l.name = name } }

// WithClock replaces the real clock, for tests with virtual time; nil keeps the real one.
func WithClock(c clockwork.Clock) Option { return func(l *Limiter) { l.clock = clock.New(c) } }

// WithGovernor adds a control law that is asked after all Limits admit; nil adds none.
func WithGovernor(g Governor) Option { return func(l *Limiter) { l.governor = g } }

// New returns a limiter for lim. All problems of lim are joined in one error,
// each a *FieldError.
func New(lim Limits, opts ...Option) (*Limiter, error) {
	if err := lim.Validate(); err != nil {
		return nil, err
	}
	l := &Limiter{clock: clock.New(nil)}
	for _, o := range opts {
		o(l)
	}
	l.limit = lim.Concurrency
	for _, w := range lim.Windows {
		l.gauges = append(l.gauges, newGauge(w, 0))
	}
	return l, nil
}

// Name returns the name given by WithName.
func (l *Limiter) Name() string { return l.name }

// Allow reports whether c is admitted now, and takes it for good: there is no
// permit to end. With a concurrency bound a slot has to be free at this
// instant, but none is held. A cost that can never be admitted is false too.
func (l *Limiter) Allow(c Cost) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait, err := l.tryLocked(c); wait > 0 || err != nil {
		return false
	}
	l.chargeLocked(l.last, c)
	return true
}

// TryAcquire returns a permit for c now, or a *LimitedError that says when it
// is worth trying again, or a *CostError if it never is.
func (l *Limiter) TryAcquire(c Cost) (Permit, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait, err := l.tryLocked(c)
	if err != nil {
		return Permit{}, err
	}
	if wait > 0 {
		return Permit{}, &LimitedError{Limiter: l.name, RetryAfter: wait}
	}
	return l.permitLocked(l.chargeLocked(l.last, c)), nil
}

// tryLocked is how long a newcomer with c would have to wait; others who wait are served first.
func (l *Limiter) tryLocked(c Cost) (time.Duration, error) {
	now := l.nowLocked()
	if err := l.refusalLocked(now, c); err != nil {
		return 0, err
	}
	var wait time.Duration
	if head := l.queue.head; head != nil {
		wait = max(1, l.waitLocked(now, head.cost))
	} else {
		wait = l.waitLocked(now, c)
	}
	if wait > 0 {
		l.stats.Refused++
	}
	return wait, nil
}

// Check returns why c would be turned away at once, however long it waited: a
// *CostError, or the reason given to Close. It is nil if c is admitted now or later.
func (l *Limiter) Check(c Cost) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refusalLocked(l.nowLocked(), c)
}

// Wait blocks until c is admitted and takes it for good, like a blocking
// Allow. Its errors are those of Acquire.
func (l *Limiter) Wait(ctx context.Context, c Cost) error {
	_, err := l.acquire(ctx, c, lastPlace, false)
	return err
}

// Acquire blocks until c is admitted and returns its permit. When ctx ends
// first, it returns context.Cause(ctx) and nothing was taken. A cost that can
// never be admitted fails at once with a *CostError; a closed limiter fails
// with the reason given to Close.
func (l *Limiter) Acquire(ctx context.Context, c Cost) (Permit, error) {
	return l.acquire(ctx, c, lastPlace, true)
}

// Reacquire is Acquire for a call that was admitted before, with sequence
// number seq, and has to be sent again: it waits ahead of everybody who was
// first admitted later, or never yet.
func (l *Limiter) Reacquire(ctx context.Context, c Cost, seq int64) (Permit, error) {
	return l.acquire(ctx, c, seq, true)
}

func (l *Limiter) acquire(ctx context.Context, c Cost, place int64, keeps bool) (Permit, error) {
	if ctx.Err() != nil {
		return Permit{}, context.Cause(ctx)
	}
	w, p, err := l.enter(c, place, keeps)
	if w == nil {
		return p, err
	}
	select {
	case <-w.ready:
	case <-ctx.Done():
		if l.leave(w) {
			return Permit{}, context.Cause(ctx)
		}
		<-w.ready // it was served in the same moment
	}
	p, err = w.permit, w.err
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.put(w)
	return p, err
}

// enter admits c at once or returns the waiter that stands in the queue for it.
func (l *Limiter) enter(c Cost, place int64, keeps bool) (*waiter, Permit, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.nowLocked()
	if err := l.refusalLocked(now, c); err != nil {
		return nil, Permit{}, err
	}
	leads := l.queue.head == nil || place < l.queue.head.place
	wait := Forever
	if leads {
		if wait = l.waitLocked(now, c); wait == 0 {
			return nil, l.admitLocked(now, c, keeps), nil
		}
	}
	w := l.queue.get()
	w.cost, w.place, w.keeps, w.since = c, place, keeps, now
	l.queue.add(w)
	if leads {
		l.wakeLocked(wait)
	}
	return w, Permit{}, nil
}

// leave takes w out of the queue; false if it has been served.
func (l *Limiter) leave(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !w.queued {
		return false
	}
	led := l.queue.head == w
	l.queue.remove(w)
	l.queue.put(w)
	l.stats.Abandoned++
	if led {
		l.pumpLocked(l.nowLocked())
	}
	return true
}

// refusalLocked is why c is not even queued.
func (l *Limiter) refusalLocked(now instant, c Cost) error {
	if err := l.closed.reason(now); err != nil {
		return err
	}
	return l.checkCostLocked(c)
}

func (l *Limiter) checkCostLocked(c Cost) error {
	if c != (Cost{}) {
		for u := range Units {
			if n := c.Of(u); n < 0 || n > MaxAmount {
				return &CostError{Limiter: l.name, Unit: u, Amount: n, Max: MaxAmount}
			}
		}
	}
	for i := range l.gauges {
		if g := &l.gauges[i]; c.Of(g.unit) > g.max {
			return &CostError{Limiter: l.name, Unit: g.unit, Amount: c.Of(g.unit), Max: g.max, Window: g.Window}
		}
	}
	return nil
}

// nowLocked never steps back, whatever an injected clock does.
func (l *Limiter) nowLocked() instant {
	l.last = max(l.last, l.clock.Elapsed())
	return l.last
}
