package breaker

import (
	"context"
	"sync"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/clock"
)

// Breaker refuses calls while the other side does not work. Make one for each
// thing that fails by itself: a host, a store, a model. All methods are safe
// for concurrent use.
type Breaker struct {
	name     string
	classify func(error) Outcome
	clock    clock.Clock
	observer event.Observer

	mu      sync.Mutex // guards everything below
	last    instant
	machine machine
	cause   error // the last failure that still counts
	records []record
	free    []uint32
	stats   Stats // its counts
	news    []news
	telling bool
}

// New returns a closed breaker. All problems of c are joined in one error,
// each a *fault.FieldError.
func New(c Config) (*Breaker, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	return &Breaker{
		name: c.Name, classify: c.Classify, clock: clock.New(c.Clock), observer: c.Observer, machine: newMachine(c),
	}, nil
}

// Do calls fn with ctx and returns its error as it is, unless the breaker
// refuses: then the error is an *OpenError and fn is not called. It is not
// called either if ctx is done before: then the error is context.Cause(ctx).
//
// How the error counts is told at [DefaultClassify] and Config.Classify. A
// panic of fn is a failure and goes on. While the breaker is closed Do
// allocates nothing.
func (b *Breaker) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	t, err := b.Allow(ctx)
	if err != nil {
		return err
	}
	ended := false
	defer func() {
		if ended {
			return
		}
		v := recover()
		if v == nil { // runtime.Goexit
			t.Cancel()
			return
		}
		t.Failure(panicked(v))
		panic(v)
	}()
	err = fn(ctx)
	t.End(ctx, err)
	ended = true
	return err
}

// Allow asks to make one call, and returns the ticket that has to be ended
// when it is known how the call went. It never waits. Its errors are those of
// Do: an *OpenError, or context.Cause(ctx) if ctx is done.
//
// Besides the breaker's observer, the observers of ctx (event.With) are told of
// the changes of state that this call and its end make.
func (b *Breaker) Allow(ctx context.Context) (Ticket, error) {
	if ctx.Err() != nil {
		return Ticket{}, context.Cause(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	o := event.From(ctx)
	now, before := b.nowLocked(), b.machine.state
	if wait := b.machine.admit(now); wait > 0 {
		b.stats.Refused++
		return Ticket{}, &OpenError{Breaker: b.name, State: b.machine.state, RetryAfter: wait, Cause: b.cause}
	}
	b.stats.Admitted++
	t := b.ticketLocked(o)
	if before == Open {
		b.addNewsLocked(now, o, "the open time is over")
		b.tellProbeLocked(t)
	}
	return t, nil
}

// Reset closes the breaker, forgets its failures and the length of its open
// time, and sets the counts of Stats to zero. Calls under way have no say any
// more when they end.
func (b *Breaker) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.machine.state
	b.machine.reset()
	b.cause, b.stats = nil, Stats{}
	if before != Closed {
		b.addNewsLocked(b.nowLocked(), nil, "reset")
	}
	b.tellLocked()
}

// nowLocked never steps back, whatever an injected clock does.
func (b *Breaker) nowLocked() instant {
	b.last = max(b.last, b.clock.Elapsed())
	return b.last
}

// Stats is a snapshot of a breaker. The counts run since New or Reset.
type Stats struct {
	State      State
	RetryAfter time.Duration // as in OpenError; 0 if a call would be let through
	Failures   int           // in a row, while closed
	InFlight   int           // tickets that have not ended, of any state
	Admitted   int64         // calls that were let through
	Refused    int64         // calls that were not
	Opened     int64         // how often it opened
	Cause      error         // the last failure that still counts, or nil
}

// Stats returns a snapshot.
func (b *Breaker) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.nowLocked()
	s := b.stats
	s.State, s.RetryAfter = b.machine.at(now), b.machine.wait(now)
	s.Failures = b.machine.failures
	s.InFlight, s.Cause = len(b.records)-len(b.free), b.cause
	return s
}
