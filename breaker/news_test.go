package breaker_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
)

// diary records the events of an observer.
type diary struct {
	mu     sync.Mutex // guards events
	events []event.Event
}

func (d *diary) Observe(e event.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
}

func (d *diary) kinds() (kinds []event.Kind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func TestObserverIsToldEveryChange(t *testing.T) {
	var got diary
	b, clock := newBreaker(t, breaker.Config{Name: "host", Failures: 2, Observer: &got})
	start := clock.Now()
	_, _ = do(t, b, errDown), do(t, b, errDown)
	clock.Advance(10 * time.Second)
	assert.Equal(t, breaker.HalfOpen, b.Stats().State)
	assert.Len(t, got.events, 1, "looking is no change")
	_ = do(t, b, errDown)
	clock.Advance(21 * time.Second)
	_, _, _ = do(t, b, nil), do(t, b, nil), do(t, b, nil)
	b.Reset()
	_, _ = do(t, b, errDown), do(t, b, errDown)
	clock.Advance(time.Second)
	b.Reset()

	at := func(after time.Duration, kind event.Kind, wait time.Duration, err error, why string) event.Event {
		e := event.New(start.Add(after), kind, "host")
		e.Wait, e.Err, e.Reason = wait, err, why
		return e
	}
	assert.Equal(t, []event.Event{
		at(0, event.BreakerOpened, 10*time.Second, errDown, "too many failures in a row"),
		at(10*time.Second, event.BreakerHalfOpen, 0, errDown, "the open time is over"),
		at(10*time.Second, event.BreakerOpened, 20*time.Second, errDown, "a probe failed"),
		at(31*time.Second, event.BreakerHalfOpen, 0, errDown, "the open time is over"),
		at(31*time.Second, event.BreakerClosed, 0, nil, "the probes succeeded"),
		at(31*time.Second, event.BreakerOpened, 10*time.Second, errDown, "too many failures in a row"),
		at(32*time.Second, event.BreakerClosed, 0, nil, "reset"),
	}, got.events)
}

// The context of the call that causes a change has observers too.
func TestObserversOfTheContext(t *testing.T) {
	var own, mine, other diary
	b, clock := newBreaker(t, breaker.Config{Failures: 1, Successes: 1, Observer: &own})
	ctx, others := event.With(t.Context(), &mine), event.With(t.Context(), &other)
	k, err := b.Allow(ctx)
	require.NoError(t, err)
	k.Failure(errDown)
	assert.ErrorIs(t, b.Do(others, nil), breaker.ErrOpen)
	clock.Advance(10 * time.Second)
	assert.NoError(t, b.Do(others, func(context.Context) error {
		assert.Equal(t, []event.Kind{event.BreakerHalfOpen}, other.kinds(), "before the probe")
		return nil
	}))
	assert.Equal(t, []event.Kind{event.BreakerOpened}, mine.kinds())
	assert.Equal(t, []event.Kind{event.BreakerHalfOpen, event.BreakerClosed}, other.kinds())
	assert.Equal(t, []event.Kind{event.BreakerOpened, event.BreakerHalfOpen, event.BreakerClosed}, own.kinds())

	assert.ErrorIs(t, b.Do(event.With(t.Context(), &own), func(context.Context) error { return errDown }), errDown)
	assert.Len(t, own.kinds(), 4, "who is both is told once")
}

// An observer may use the breaker: no lock is held.
func TestObserverMayUseTheBreaker(t *testing.T) {
	var got diary
	var b *breaker.Breaker
	b, _ = newBreaker(t, breaker.Config{Failures: 1, Observer: event.Func(func(e event.Event) {
		got.Observe(e)
		if e.Kind == event.BreakerOpened {
			assert.Equal(t, breaker.Open, b.Stats().State)
			assert.ErrorIs(t, do(t, b, nil), breaker.ErrOpen)
			b.Reset()
			_ = do(t, b, nil)
		}
	})})
	_ = do(t, b, errDown)
	assert.Equal(t, []event.Kind{event.BreakerOpened, event.BreakerClosed}, got.kinds())
	assert.Equal(t, breaker.Closed, b.Stats().State)
}

// While one goroutine is with the observer, others leave their news to it and
// do not wait.
func TestOrderIsTheOrderOfTheChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got diary
		gate := make(chan struct{})
		b, clock := newBreaker(t, breaker.Config{Failures: 1, Successes: 1, Observer: event.Func(func(e event.Event) {
			if e.Kind == event.BreakerOpened {
				<-gate
			}
			got.Observe(e)
		})})
		go func() { _ = do(t, b, errDown) }()
		synctest.Wait()
		clock.Advance(10 * time.Second)
		assert.NoError(t, do(t, b, nil))
		assert.Equal(t, breaker.Closed, b.Stats().State)
		assert.Empty(t, got.kinds())

		close(gate)
		synctest.Wait()
		assert.Equal(t, []event.Kind{event.BreakerOpened, event.BreakerHalfOpen, event.BreakerClosed}, got.kinds())
	})
}

// An observer that ends the goroutine, as FailNow does, breaks nothing.
func TestObserverThatExits(t *testing.T) {
	for _, kind := range []event.Kind{event.BreakerOpened, event.BreakerHalfOpen, event.BreakerClosed} {
		var got diary
		b, clock := newBreaker(t, breaker.Config{Failures: 1, Successes: 1, Observer: event.Func(func(e event.Event) {
			got.Observe(e)
			if e.Kind == kind {
				runtime.Goexit()
			}
		})})
		call := func(err error) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = do(t, b, err)
			}()
			<-done
		}
		call(errDown)
		assert.Equal(t, breaker.Open, b.Stats().State, kind)
		clock.Advance(10 * time.Second)
		call(nil)
		if kind == event.BreakerHalfOpen {
			assert.Equal(t, breaker.HalfOpen, b.Stats().State, "the probe never went")
			call(nil)
		}
		assert.Equal(t, breaker.Closed, b.Stats().State, kind)
		assert.Zero(t, b.Stats().InFlight, kind)
		assert.Equal(t, []event.Kind{event.BreakerOpened, event.BreakerHalfOpen, event.BreakerClosed}, got.kinds())
	}
}

func TestObserverThatPanics(t *testing.T) {
	b, _ := newBreaker(t, breaker.Config{Failures: 1, Observer: event.Func(func(event.Event) { panic("observer") })})
	assert.Equal(t, errDown, do(t, b, errDown))
	assert.ErrorIs(t, do(t, b, nil), breaker.ErrOpen)
}
