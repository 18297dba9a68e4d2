package guard_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// exits makes a call on a goroutine that user code ends.
func exits(t *testing.T, g *guard.Guard, f func(context.Context) error) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = do(t.Context(), g, f)
		t.Error("the goroutine was to end")
	})
	wg.Wait()
}

func exit(context.Context) error { runtime.Goexit(); return nil }

func failing(context.Context) error { return errors.New("failed") }

// The probe of a used-up quota is over if its detector ends the goroutine.
func TestGoexitInTheDetectorOfAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		probing := false
		g := made(t, guard.Policy{Detector: func(error) adaptive.Feedback {
			if probing {
				runtime.Goexit()
			}
			return of(adaptive.Terminal)
		}})
		require.ErrorIs(t, do(t.Context(), g, failing), adaptive.ErrQuotaExhausted)
		time.Sleep(61 * time.Second)
		probing = true
		exits(t, g, failing)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.NoError(t, do(ctx, g, nothing), "another call probes")
		require.NoError(t, do(t.Context(), g, nothing))
	})
}

// An observer that ends the goroutine keeps no slot, lease or probe.
func TestGoexitInAnObserverReturnsEverything(t *testing.T) {
	for name, c := range map[string]struct {
		observer event.Observer
		f        func(context.Context) error
	}{
		"when a breaker asks for a probe": {exitsAt(event.BreakerHalfOpen), nothing},
		"when a call has ended":           {exitsAtCalls{}, nothing},
		"when a call has exited":          {exitsAtCalls{}, exit},
		"when a breaker opens":            {exitsAt(event.BreakerOpened), failing},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var armed switched
				store := quota.NewMemoryStore(nil)
				one := throttle.Limits{Concurrency: 1}
				config := &breaker.Config{Failures: 1, Open: time.Second}
				outer := made(t, guard.Policy{Name: "outer", Limits: one, Store: store, Breaker: config})
				armed.Observer = c.observer
				g := made(t, guard.Policy{
					Name: "g", Limits: one, Store: store, Within: []*guard.Guard{outer}, Breaker: config, Observer: &armed, Law: adaptive.AIMD{},
				})
				_ = do(t.Context(), g, failing)
				time.Sleep(2 * time.Second)
				armed.on = true
				exits(t, g, c.f)
				armed.on = false
				time.Sleep(2 * time.Second)
				assert.Zero(t, g.Stats().InFlight+outer.Stats().InFlight)
				require.NoError(t, g.Try(t.Context(), throttle.Cost{}, nothing), "also in the store and the breakers")
			})
		})
	}
}

// switched observes while it is on.
type switched struct {
	event.Observer

	on bool
}

func (s *switched) Observe(e event.Event) {
	if s.on {
		s.Observer.Observe(e)
	}
}

func (s *switched) ObserveCall(c event.Call) {
	if o, ok := s.Observer.(event.CallObserver); ok && s.on {
		o.ObserveCall(c)
	}
}

func exitsAt(k event.Kind) event.Observer {
	return event.Func(func(e event.Event) {
		if e.Kind == k {
			runtime.Goexit()
		}
	})
}

type exitsAtCalls struct{}

func (exitsAtCalls) Observe(event.Event)    {}
func (exitsAtCalls) ObserveCall(event.Call) { runtime.Goexit() }

// exiting is a controller that calls runtime.Goexit in OnSend, once.
type exiting struct {
	adaptive.State

	at    int // for which call, from 1
	slots int
}

func (l *exiting) Start(now time.Time, seed uint64) (s adaptive.State, err error) {
	l.State, err = adaptive.AIMD{Initial: l.slots, Max: l.slots}.Start(now, seed)
	return l, err
}

func (l *exiting) OnSend(now time.Time, s throttle.Sent) {
	if l.State.OnSend(now, s); s.Seq == int64(l.at) {
		runtime.Goexit()
	}
}

// If a law ends the goroutine of a call, the slot of the call is returned and other
// calls are admitted.
func TestGoexitInALawReturnsTheSlot(t *testing.T) {
	for name, nested := range map[string]bool{"alone": false, "within another": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := guard.Policy{Limits: throttle.Limits{Concurrency: 1}, Law: &exiting{at: 1, slots: 1}}
				if nested {
					p.Within = []*guard.Guard{made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 1}, Law: adaptive.AIMD{}})}
				}
				g := made(t, p)
				exits(t, g, nothing)
				assert.Zero(t, g.Stats().InFlight)
				require.NoError(t, g.Try(t.Context(), throttle.Cost{}, nothing))
			})
		})
	}
}

// A law may end the goroutine of one call while it admits another.
func TestGoexitInALawLeavesNoCallBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 1}, Law: &exiting{at: 2, slots: 1}})
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() { _ = do(t.Context(), g, func(context.Context) error { time.Sleep(time.Second); return nil }) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.NoError(t, do(ctx, g, nothing))
		assert.Zero(t, g.Stats().InFlight)
	})
}
