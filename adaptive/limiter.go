package adaptive

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/throttle"
)

const (
	defaultMaxWait = 15 * time.Minute
	// MaxRetryAfter is the longest Retry-After that a call waits for; longer ones
	// are returned to the caller as a *RateLimitHit.
	MaxRetryAfter = 10 * time.Minute
)

// Config describes a limiter. The zero Config has no limits of its own and
// finds the provider's with Measured.
type Config struct {
	Name     string          // in errors and events; default "limiter"
	Limits   throttle.Limits // hard caps that are never learnt away
	Law      Law             // nil: Measured{}, but beginning at Limits.Concurrency, and with at least that Max, if it is set
	Detector Detector        // asked before DefaultDetector; nil: only that one
	MaxWait  time.Duration   // how long a refused call may wait to go again; 0: 15 minutes
}

// Limiter is a throttle.Limiter that learns from refusals. All methods are
// safe for concurrent use.
type Limiter struct {
	name     string
	cfg      atomic.Pointer[Config] // what it points to is never changed
	throttle *throttle.Limiter
	governor *governor
	clock    clock.Clock
	observer event.Observer
	calls    bool // observer wants to know of each call
	seed     uint64

	changing sync.Mutex // held by whoever changes the law or relies on which one runs, before the throttle's lock
}

// Option is a setting of New.
type Option func(*Limiter)

// WithClock replaces the real clock, for tests with virtual time; nil keeps the real one.
func WithClock(c clockwork.Clock) Option { return func(l *Limiter) { l.clock = clock.New(c) } }

// WithObserver sends the limiter's events to o, besides the observer in the
// context of each call.
func WithObserver(o event.Observer) Option { return func(l *Limiter) { l.observer = o } }

// WithSeed makes what the law draws at random repeatable. The default is 1.
func WithSeed(seed uint64) Option { return func(l *Limiter) { l.seed = seed } }

// New returns a limiter. All problems of c are joined in one error, each a *fault.FieldError.
func New(c Config, opts ...Option) (*Limiter, error) {
	if c.Name == "" {
		c.Name = "limiter"
	}
	l := &Limiter{name: c.Name, clock: clock.New(nil), seed: 1}
	for _, o := range opts {
		o(l)
	}
	l.calls = emit.WantsCalls(l.observer)
	state, err := l.start(&c, &invalid.Problems{Owner: "adaptive: " + c.Name})
	if err != nil {
		return nil, err
	}
	l.cfg.Store(&c)
	l.governor = &governor{State: state}
	l.throttle, err = throttle.New(c.Limits, throttle.WithName(c.Name),
		throttle.WithClock(l.clock.Underlying()), throttle.WithGovernor(l.governor))
	l.governor.throttle = l.throttle
	return l, err
}

// start fills in the defaults of c, adds its problems to p and returns the first state of its law.
func (l *Limiter) start(c *Config, p *invalid.Problems) (State, error) {
	if c.MaxWait < 0 {
		p.Addf("MaxWait", "%s is negative: use 0 for the default of %s", c.MaxWait, defaultMaxWait)
	}
	if c.MaxWait == 0 {
		c.MaxWait = defaultMaxWait
	}
	state, err := c.law().Start(l.clock.Now(), l.seed)
	p.AddPart("Law", err)
	p.AddPart("Limits", c.Limits.Validate())
	return state, p.Err()
}

func (c *Config) law() Law {
	if c.Law != nil {
		return c.Law
	}
	return lawFor(c.Limits)
}

// lawFor is the law of a limiter that was not given one. A concurrency that was
// given is meant: the law begins there.
func lawFor(lim throttle.Limits) Measured {
	n := max(0, lim.Concurrency) // a negative one is reported as what it is
	return Measured{Initial: n, Max: max(defaultMax, n)}
}

// Name returns the limiter's name.
func (l *Limiter) Name() string { return l.name }

// Throttle returns the limiter underneath, for changing limits in place and for its statistics.
func (l *Limiter) Throttle() *throttle.Limiter { return l.throttle }

// View returns what the law holds at the moment.
func (l *Limiter) View() View {
	var v View
	l.throttle.Look(func(time.Time) { v = l.governor.View() })
	return v
}

// Reset starts the law and the statistics anew and reopens a limiter that a
// used-up quota had closed. The history of the windows and the gate survive,
// and so does a closing for as long as the provider asked.
func (l *Limiter) Reset() error {
	l.changing.Lock()
	defer l.changing.Unlock()
	state, err := l.cfg.Load().law().Start(l.clock.Now(), l.seed)
	if err != nil {
		return err
	}
	l.throttle.Update(func(time.Time) { l.governor.replace(state) })
	if errors.Is(l.throttle.Stats().Closed, ErrQuotaExhausted) {
		l.throttle.Reopen()
	}
	l.throttle.Reset()
	return nil
}

// Save returns what the law has learnt, for Restore in a later run. It is
// JSON, with nothing secret in it. The error is errors.ErrUnsupported for a
// law that cannot be saved.
func (l *Limiter) Save() (saved []byte, err error) {
	l.changing.Lock()
	defer l.changing.Unlock()
	err = fmt.Errorf("adaptive: saving what %T learnt: %w", l.cfg.Load().law(), errors.ErrUnsupported)
	l.throttle.Look(func(now time.Time) {
		if s, ok := l.governor.State.(Saver); ok {
			saved, err = s.Save(now)
		}
	})
	return saved, err
}

// Restore has the law go on with what an earlier run saved, in the place of
// all that it has learnt in this one. The history of the windows and the gate
// survive. What cannot be restored is a *SavedError, and changes nothing; the
// error is errors.ErrUnsupported for a law that cannot be restored.
func (l *Limiter) Restore(saved []byte) error {
	l.changing.Lock()
	defer l.changing.Unlock()
	law := l.cfg.Load().law()
	r, ok := law.(Restorer)
	if !ok {
		return fmt.Errorf("adaptive: restoring what %T learnt: %w", law, errors.ErrUnsupported)
	}
	state, err := r.Restore(l.clock.Now(), l.seed, saved)
	if err != nil {
		return err
	}
	l.throttle.Update(func(time.Time) { l.governor.replace(state) })
	return nil
}

// Learn tells the law about a call that did not pass through this limiter:
// one that was sent at sentAt, before the limiter was there. A hit is
// signalled to the enclosing limiters as if the call had been admitted here.
func (l *Limiter) Learn(ctx context.Context, sentAt time.Time, f Feedback) {
	var r result
	observed := l.observed(ctx)
	l.throttle.Update(func(now time.Time) {
		l.result(&r, now, &throttle.Sent{At: sentAt}, &f, observed)
	})
	l.tell(ctx, &r, &f)
}

// Classify returns what the limiter makes of err: the verdict of its own
// detector or, if that does not know it, of DefaultDetector.
func (l *Limiter) Classify(err error) Feedback { return Classify(l.cfg.Load().Detector, err) }
