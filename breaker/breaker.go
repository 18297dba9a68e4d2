package breaker

import (
	"context"
	"sync"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/clock"
)

// Breaker rejects calls while the server fails. Make one for each thing that fails
// independently: a host, a store, a model. All methods are safe for concurrent use.
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
	probed  chan struct{} // of Probed; nil: no caller waits
}

// New returns a closed breaker. Its error is that of [Config.Validate].
func New(c Config) (*Breaker, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	return &Breaker{
		name: c.Name, classify: c.Classify, clock: clock.New(c.Clock), observer: c.Observer, machine: newMachine(c),
	}, nil
}

// longestRetryAfter keeps what is put into an HTTP header within what clients take.
const longestRetryAfter = 24 * time.Hour

// Do calls fn with ctx and returns its error unchanged. If the breaker rejects the
// call, fn is not called and the error is an *OpenError; if ctx is done, it is
// context.Cause(ctx). A panic of fn counts as a failure and is not recovered.
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

// Allow admits one call. Its ticket must be ended when the outcome is known. Allow never
// waits. The error is an *OpenError, or context.Cause(ctx) if ctx is done. The
// observers of ctx also receive the events that this call and its end cause.
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
		return Ticket{}, &OpenError{Breaker: b.name, State: b.machine.state, RetryAfter: min(wait, longestRetryAfter), Cause: b.cause}
	}
	b.stats.Admitted++
	t := b.ticketLocked(o)
	if before == Open {
		b.addNewsLocked(now, o, "the open time is over")
		b.tellProbeLocked(t)
	}
	return t, nil
}

// Reset closes the breaker as if it were new, with zero counts. Calls in progress
// no longer count when they end.
func (b *Breaker) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.machine.state
	b.machine.reset()
	b.wakeLocked()
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
	State      State         // what the next call would meet
	RetryAfter time.Duration // as in OpenError; 0 if a call would be admitted
	Failures   int           // in a row, while closed
	InFlight   int           // tickets that have not ended
	Admitted   int64         // calls
	Refused    int64         // calls rejected with an OpenError
	Opened     int64         // times that it opened
	Cause      error         // the last failure that still counts, or nil
}

// Stats returns a snapshot.
func (b *Breaker) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.nowLocked()
	s := b.stats
	s.State, s.RetryAfter = b.machine.at(now), min(b.machine.wait(now), longestRetryAfter)
	s.Failures = b.machine.failures
	s.InFlight, s.Cause = len(b.records)-len(b.free), b.cause
	return s
}
