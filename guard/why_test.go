package guard_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

func TestWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		call := func(l *guard.Guard, fn func(context.Context) error) {
			wg.Go(func() { _ = do(t.Context(), l, fn) })
			synctest.Wait()
		}
		c := capped(2)
		l := made(t, c)
		assert.Equal(t, "0 in flight of 2, 0 waiting: nothing holds it back", l.Stats().Why)
		call(l, ok(time.Second))
		assert.Equal(t, "1 in flight of 2, 0 waiting: nothing holds it back", l.Stats().Why)
		call(l, ok(time.Second))
		call(l, ok(time.Second))
		assert.Equal(t, "2 in flight of 2, 1 waiting: held back by the learned concurrency", l.Stats().Why)
		wg.Wait()

		l.Learn(time.Now(), adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Nanosecond})
		time.Sleep(time.Nanosecond)
		call(l, ok(time.Second))
		assert.Equal(t, "1 in flight of 1, 0 waiting: nothing holds it back", l.Stats().Why)
		call(l, ok(0))
		assert.Equal(t, "1 in flight of 1, 1 waiting: held back by the learned concurrency", l.Stats().Why)
		l.Learn(time.Now(), hitAfter(time.Minute))
		time.Sleep(30 * time.Second)
		assert.Regexp(t, `^0 in flight of 1, 1 waiting: the pause ends in 3[0-6]\.?\d*s$`, l.Stats().Why)
		l.Throttle().PauseUntil(time.Now().Add(90 * time.Second))
		assert.Equal(t, "0 in flight of 1, 1 waiting: paused for another 1m30s", l.Stats().Why)
		wg.Wait()
		l.Learn(time.Now(), adaptive.Feedback{Verdict: adaptive.Terminal, Err: statusError(402)})
		assert.Equal(t, `0 in flight of 1, 0 waiting: closed, the provider reports a used-up quota; one call probes it in 1m0s`, l.Stats().Why)

		l = made(t, c)
		l.Learn(time.Now(), hitAfter(2*time.Hour))
		assert.Equal(t, "0 in flight of 2, 0 waiting: closed, the provider asks to wait for 2h0m0s; one call probes it in 1m0s", l.Stats().Why)
		l = made(t, c)
		l.Learn(time.Now(), hitAfter(8760*time.Hour))
		assert.Equal(t, "0 in flight of 2, 0 waiting: closed, the provider asks to wait for at least 24h0m0s; one call probes it in 1m0s", l.Stats().Why)
		l = made(t, c)
		l.Close(errors.New("the money is gone"))
		assert.Equal(t, "0 in flight of 2, 0 waiting: closed, the money is gone", l.Stats().Why)
		l = made(t, c)
		l.Throttle().PauseUntil(time.Now().Add(time.Minute + 1234*time.Millisecond))
		assert.Equal(t, "0 in flight of 2, 0 waiting: paused for another 1m1s", l.Stats().Why)
		time.Sleep(time.Minute)
		assert.Equal(t, "0 in flight of 2, 0 waiting: paused for another 1.234s", l.Stats().Why)

		c.MaxWait = time.Hour
		l = made(t, c)
		l.Learn(time.Now(), hitAfter(30*time.Minute))
		call(l, ok(time.Second))
		assert.Equal(t, "0 in flight of 2, 1 waiting: closed by the provider; one call probes it in 1m0s", l.Stats().Why)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, "1 in flight of 2, 0 waiting: closed by the provider; one call probes it now", l.Stats().Why)
		wg.Wait()
		l = made(t, c)
		l.Learn(time.Now(), hitAfter(30*time.Minute))
		time.Sleep(time.Minute)
		assert.Equal(t, "0 in flight of 2, 0 waiting: closed by the provider; the next call probes it", l.Stats().Why)

		c.Limits = throttle.Limits{Concurrency: 1, Windows: []throttle.Window{throttle.Sliding(1, time.Second)}}
		l = made(t, c)
		call(l, ok(0))
		call(l, ok(0))
		assert.Equal(t, "0 in flight of 1, 1 waiting: held back by 1/s for another 1s", l.Stats().Why)
		wg.Wait()

		assert.Equal(t, "0 in flight, 0 waiting: nothing holds it back", made(t, guard.Policy{Law: unbounded{}}).Stats().Why)
		c.Law = unbounded{}
		assert.Equal(t, "0 in flight of 1, 0 waiting: nothing holds it back", made(t, c).Stats().Why)
	})
}

func TestWhyNamesTheBoundAndWhatComesNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Law: adaptive.Measured{Initial: 1, Prior: perSecond(2)}})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { assert.NoError(t, do(t.Context(), l, ok(0))) })
		}
		synctest.Wait()
		assert.Contains(t, l.Stats().Why, "held back by the learned rate of 1.94 requests/s, more is tried in ")
		wg.Wait()

		l = made(t, guard.Policy{Law: adaptive.Measured{Initial: 1}})
		for range 2 {
			wg.Go(func() { assert.NoError(t, do(t.Context(), l, ok(time.Second))) })
		}
		synctest.Wait()
		assert.Equal(t, "1 in flight of 1, 1 waiting: held back by a start with 1 calls in flight, more until one is rejected", l.Stats().Why)
		wg.Wait()

		l = made(t, guard.Policy{Law: adaptive.Measured{Max: 1}})
		for range 2 {
			wg.Go(func() { assert.NoError(t, do(t.Context(), l, ok(time.Second))) })
		}
		synctest.Wait()
		assert.Equal(t, "1 in flight of 1, 1 waiting: held back by 1 calls in flight, the most that the controller may use (Max)", l.Stats().Why)
		wg.Wait()
	})
}

// A snapshot may fall between the end of a wait and the admission, when calls still wait.
func TestWhyACallWaitsThatIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open atomic.Bool
		l := made(t, guard.Policy{Law: door{open: &open}})
		var wg sync.WaitGroup
		wg.Go(func() { assert.NoError(t, do(t.Context(), l, ok(0))) })
		synctest.Wait()
		assert.Equal(t, "0 in flight, 1 waiting: held back by the controller for another 1m0s", l.Stats().Why)
		open.Store(true)
		assert.Equal(t, "0 in flight, 1 waiting: the next call is about to be admitted", l.Stats().Why)
		wg.Wait()
	})
}

// door is a law that admits nothing until it is open, and looks once a minute.
type door struct {
	unbounded

	open *atomic.Bool
}

func (d door) Start(time.Time, uint64) (adaptive.State, error) { return d, nil }

func (d door) Admit(time.Time, throttle.Cost, int) time.Duration {
	if d.open.Load() {
		return 0
	}
	return time.Minute
}

// A guard reports that its calls wait for an enclosing guard.
func TestWhyNamesTheGuardOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer := made(t, guard.Policy{Name: "openai", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Minute)}}})
		inner := made(t, guard.Policy{Name: "user", Within: []*guard.Guard{outer}, Limits: throttle.Limits{Concurrency: 5}})
		alone := made(t, guard.Policy{Name: "alone", Limits: throttle.Limits{Concurrency: 5}})
		var wg sync.WaitGroup
		for _, g := range []*guard.Guard{inner, inner, guard.Join(alone, outer)} {
			wg.Go(func() { assert.NoError(t, do(t.Context(), g, ok(0))) })
			synctest.Wait()
		}
		assert.Equal(t, `0 in flight of 5, 1 waiting: held back by 1/min for another 1m0s of "openai"`, inner.Stats().Why)
		assert.Equal(t, "0 in flight of 5, 1 waiting: held back by another guard until a call ends", alone.Stats().Why)
		assert.Equal(t, "0 in flight, 2 waiting: held back by 1/min for another 1m0s", outer.Stats().Why)
		wg.Wait()
	})
}
