package throttle

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/meter"
)

// instant is a point in time as the duration since the base of the limiter's clock.
type instant = meter.Instant

// Limiter enforces Limits in this process. A call gets its slot and its share
// of every window at one instant or not at all, so waiting for a window never
// holds a slot. Calls are served first in, first out: a small cost does not
// overtake the head of the queue. Safe for concurrent use.
type Limiter struct {
	// A key of many touches this cache line, and what it shares with the others.
	fast     atomic.Pointer[fast] // see there; nil: there is none but born
	word     atomic.Uint64        // see fast.go
	born     unique.Handle[origin]
	refusals atomic.Int64 // without the lock
	id       uint64
	*options
	mu     sync.Mutex // guards the state
	*state            // nil until the lock is taken first, if the limiter was born open
}

// options are the settings of New, and a control law.
type options struct {
	ticks    clock.Clock // what the limiter counts time by; state.clock knows the time of day too
	shared   bool        // the ticks are those of the program
	name     string
	guard    time.Duration
	governor governor
	observer event.Observer
}

// none is shared by the limiters without options.
var none = options{ticks: clock.Program(), shared: true} //nolint:gochecknoglobals // nothing changes it

// state is what a lock guards.
type state struct {
	clock      clock.Clock
	last       instant
	limit      int // concurrency, 0: unbounded
	gauges     []meter.Gauge
	most       [Units]uint64 // that one call may cost
	inFlight   int
	added      int     // calls in flight that were admitted elsewhere
	paused     instant // no call is admitted before it
	closed     closing // no call is admitted
	queue      queue
	mostQueued int              // calls that may wait; 0: any number
	fronts     []*part          // joint calls that wait here, in the order of arrival
	ahead      []entry          // the memory of candidateLocked
	lines      map[string]*line // of joint calls for which this limiter is locked first
	joined     int              // joint calls that wait and need this limiter
	heads      []*joint         // the first of each line that needs this limiter
	untried    atomic.Int32     // heads that may be admitted, and are tried before anything else here
	awaits     bool             // some of the heads wait for room in another limiter
	awaited    time.Time        // none of these is due before
	arrivals   int64
	tries      []*joint        // to be tried when the lock is given up
	recheck    bool            // some that wait may have to be turned away
	timer      clockwork.Timer // for the head only
	due        instant         // when the timer should fire
	charged    instant         // a bucket was last debited or given back to, or changed
	lent       time.Duration   // the longest credit since the limits were set
	records    []record
	ended      Sent // the last one that engine.End has returned
	free       []uint32
	seq        int64
	total      amounts
	stats      Stats
	simple     bool   // the limits may be such that calls are admitted without the lock
	open       bool   // calls are
	slow       uint64 // calls of Allow with the lock since that was so
}

// limiterIDs gives the order in which several limiters are locked.
var limiterIDs atomic.Uint64 //nolint:gochecknoglobals // see above

// Option is a setting of New.
type Option func(*Limiter)

// WithName names the limiter in errors, events and statistics.
func WithName(name string) Option { return func(l *Limiter) { l.name = name } }

// WithClock replaces the real clock in tests.
func WithClock(c clockwork.Clock) Option {
	return func(l *Limiter) {
		if own := clock.New(c); !own.Real() || !l.shared {
			l.ticks, l.shared = own, false
		}
	}
}

// WithMargin widens every window by d, the jitter of the transit to a provider
// that counts by its own clock. Otherwise calls may arrive closer together than
// they were sent, and exceed a window there. The default is 0; a bucket gives
// no credit for late timers then.
func WithMargin(d time.Duration) Option { return func(l *Limiter) { l.guard = d } }

// WithObserver sets the observer of changes, pauses, closings, and calls that
// had to wait. nil disables events.
func WithObserver(o event.Observer) Option { return func(l *Limiter) { l.observer = o } }

// New returns a limiter. All problems of lim and of the options are joined, each
// a *fault.FieldError.
func New(lim Limits, opts ...Option) (*Limiter, error) {
	l := &Limiter{id: limiterIDs.Add(1), options: &none}
	switch {
	case clock.Ticks() < 0: // in a bubble of testing/synctest
		l.options = &options{ticks: clock.New(nil)}
	case len(opts) > 0:
		own := none
		l.options = &own
	}
	p := invalid.Problems{Owner: "throttle"}
	invalid.Options(&p, opts, l)
	p.Add(lim.Validate())
	l.checkGuard(lim, &p)
	if err := p.Err(); err != nil {
		return nil, err
	}
	if !l.bornOpen(lim) {
		l.beginLocked(lim)
	}
	return l, nil
}

// Name returns the name.
func (l *Limiter) Name() string { return l.name }

func (l *Limiter) checkGuard(lim Limits, p *invalid.Problems) {
	switch {
	case l.guard < 0:
		p.Addf("Margin", "%s is negative: use the jitter of the transit, or 0", l.guard)
	case l.guard > meter.LongestFill:
		p.Addf("Margin", "%s is longer than a century", l.guard)
	}
	for i, w := range lim.Windows {
		if w.Kind() == CalendarWindow && w.spec.Per > 0 && l.guard >= w.spec.Per {
			p.Addf(fmt.Sprintf("Windows[%d].Per", i), "%s is not longer than the margin of %s", w.spec.Per, l.guard)
		}
	}
}

// nowLocked never steps back, whatever an injected clock does.
func (l *Limiter) nowLocked() instant {
	l.last = max(l.last, l.clock.Elapsed())
	return l.last
}

// asOfLocked is the instant of a call that has read the clock before it had the lock. If another call took effect later
// than that, it reads the clock again: units may have come back since.
func (l *Limiter) asOfLocked(read instant) instant {
	if read < l.last {
		return l.nowLocked()
	}
	l.last = read
	return read
}
