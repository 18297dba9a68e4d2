package throttle

import (
	"fmt"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/invalid"
)

// Limiter enforces Limits in this process. A call gets its slot and its share
// of every window at one instant or not at all, so waiting for a window never
// holds a slot. Callers are served strictly first in, first out: nobody
// overtakes the head of the queue, also not with a smaller cost. All methods
// are safe for concurrent use.
type Limiter struct {
	name     string
	clock    clock.Clock
	guard    time.Duration
	governor Governor

	observer event.Observer
	shared   *shared // nil without a Store

	mu         sync.Mutex // guards everything below
	last       instant
	limit      int // concurrency, 0: unbounded
	gauges     []gauge
	most       [Units]uint64 // that one call may cost
	inFlight   int
	paused     instant // nobody goes before it
	closed     closing // nobody goes at all
	queue      queue
	mostQueued int             // calls that may wait; 0: any number
	newcomer   waiter          // stands for one who has not asked the Store yet; never changed
	timer      clockwork.Timer // for the head only
	due        instant         // when the timer should fire
	charged    instant         // a bucket was last debited or given back to, or changed
	lent       time.Duration   // the longest credit since the limits were set
	records    []record
	free       []uint32
	seq        int64
	total      amounts
	stats      Stats
}

// Option is a setting of New.
type Option func(*Limiter)

// WithName names the limiter in errors, events and statistics.
func WithName(name string) Option { return func(l *Limiter) { l.name = name } }

// WithClock replaces the real clock, for tests with virtual time; nil keeps the real one.
func WithClock(c clockwork.Clock) Option { return func(l *Limiter) { l.clock = clock.New(c) } }

// WithGuard widens every window by d, for those whom the provider judges by its
// own clock: two calls may come closer to each other on their way by the
// jitter of the transit, so that a window which is exact here is exceeded
// there. Choose d as large as that jitter; the default is 0, and a negative
// one is refused. A bucket counts as if it refilled d later and gives no credit
// for late timers, a calendar has what goes in the last d of a period count in
// the next one too.
func WithGuard(d time.Duration) Option { return func(l *Limiter) { l.guard = d } }

// WithGovernor adds a control law that is asked after all Limits admit; nil adds none.
func WithGovernor(g Governor) Option { return func(l *Limiter) { l.governor = g } }

// WithObserver tells o of changes to the limits, of pauses and closings by
// hand, and of every call that had to wait once it is served. nil tells nobody.
func WithObserver(o event.Observer) Option { return func(l *Limiter) { l.observer = o } }

// WithStore shares the limits through s with every limiter of the same name
// that uses it, in this process or another. A call is admitted here first and
// then by the store; if the store refuses, it is undone here and waits in its
// old place, with those behind it. Several may be asking at a time; which of
// these goes first is the store's to say. All calls in flight hold a lease of
// 30 s on their slot, renewed every 10 s, so that the slots of a process that
// died become free.
//
// Each admission is then a call of the store, and so is each end of a permit
// that has a slot or settles. The store is given 5 s for it. An error of the
// store is that of the call, and nothing was taken; an end that it does not
// hear of is counted in Stats. The limiter needs a name, which is the key in
// the store, and cannot have a guard. A pause is this process's own; for a pause
// of all there is Store.Cooldown. nil shares nothing.
func WithStore(s Store) Option {
	return func(l *Limiter) {
		l.shared = nil
		if s != nil {
			l.shared = newShared(l, s)
		}
	}
}

// New returns a limiter for lim. All problems of lim are joined in one error,
// each a *fault.FieldError.
func New(lim Limits, opts ...Option) (*Limiter, error) {
	l := &Limiter{clock: clock.New(nil), due: Forever}
	for _, o := range opts {
		o(l)
	}
	p := invalid.Problems{Owner: "throttle"}
	p.Add(lim.Validate())
	l.checkGuard(lim, &p)
	if l.shared != nil && l.name == "" {
		p.Addf("Name", "is empty: with a Store the limiter needs one, it is the key")
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	l.fitLocked(lim)
	return l, nil
}

// Name returns the name given by WithName.
func (l *Limiter) Name() string { return l.name }

func (l *Limiter) checkGuard(lim Limits, p *invalid.Problems) {
	switch {
	case l.guard < 0:
		p.Addf("Guard", "%s is negative: use the jitter of the transit, or 0", l.guard)
	case l.guard > longestFill:
		p.Addf("Guard", "%s is longer than a century", l.guard)
	case l.guard > 0 && l.shared != nil:
		p.Addf("Guard", "%s cannot be kept with a Store, which counts by its own clock: state lower limits", l.guard)
	}
	for i, w := range lim.Windows {
		if w.algorithm == calendar && w.per > 0 && l.guard >= w.per {
			p.Addf(fmt.Sprintf("Windows[%d].Per", i), "%s is not longer than the guard of %s", w.per, l.guard)
		}
	}
}

// nowLocked never steps back, whatever an injected clock does.
func (l *Limiter) nowLocked() instant {
	l.last = max(l.last, l.clock.Elapsed())
	return l.last
}
