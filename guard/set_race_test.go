package guard_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

func TestSetEmitsOutsideOfEveryLock(t *testing.T) {
	var l *guard.Guard
	seen := 0
	l = made(t, observed(capped(2), event.Func(func(event.Event) {
		saved, err := l.Save()
		assert.NoError(t, err)
		assert.NoError(t, l.Restore(saved))
		assert.NoError(t, l.Reset())
		if seen++; seen == 1 {
			assert.NoError(t, l.Set(capped(4)))
		}
	})))
	require.NoError(t, l.Set(capped(3)))
	assert.Equal(t, 2, seen)
	assert.Equal(t, 4, l.Stats().View.Concurrency)
}

func TestSetIsSafeForConcurrentUse(t *testing.T) {
	l := made(t, capped(4))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() { assert.NoError(t, l.Set(capped(1+i))) })
		wg.Go(func() { assert.NoError(t, do(t.Context(), l, ok(0))) })
		wg.Go(func() {
			saved, err := l.Save()
			assert.NoError(t, err)
			assert.NoError(t, l.Restore(saved))
			assert.NoError(t, l.Reset())
			_ = l.Stats().Why + fmt.Sprint(l.Stats().View, l.Classify(context.Canceled))
		})
	}
	wg.Wait()
}

// Changes of everything among calls that nest, give up and are rejected leave nothing behind.
func TestSetAmongEverythingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		window := throttle.Sliding(50, 10*time.Millisecond)
		configs := []guard.Policy{
			{Limits: throttle.Limits{Concurrency: 8, Windows: []throttle.Window{window}}},
			{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(5000, 10), window.Of(throttle.Tokens)}}, Law: adaptive.AIMD{}},
			{Limits: throttle.Limits{Concurrency: 400}, Law: adaptive.AIMD{Initial: 2, Min: 2, Max: 2}},
			{Law: adaptive.Measured{Initial: 3, Max: 10}},
			{},
		}
		l := made(t, observed(configs[0], event.Func(func(event.Event) {})))
		ctx, cancel := context.WithCancel(t.Context())
		var calls, others sync.WaitGroup
		for i := range 24 {
			calls.Go(func() {
				for n := range 50 {
					ctx, giveUp := context.WithTimeout(t.Context(), []time.Duration{time.Hour, time.Millisecond}[n%5/4])
					err := l.Do(ctx, throttle.Cost{Tokens: int64(n % 20)}, func(ctx context.Context) error {
						if n%7 == 0 {
							return l.Do(ctx, throttle.Cost{Tokens: int64(i)}, ok(time.Millisecond))
						}
						return ok(time.Duration(n) * 10 * time.Microsecond)(ctx)
					})
					giveUp()
					assert.True(t, err == nil || errors.Is(err, context.DeadlineExceeded), "%v", err)
				}
			})
		}
		meanwhile := func(every time.Duration, do func(n int)) {
			others.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					do(n)
					time.Sleep(every)
				}
			})
		}
		meanwhile(300*time.Microsecond, func(n int) { assert.NoError(t, l.Set(configs[n%len(configs)])) })
		meanwhile(400*time.Microsecond, func(n int) { assert.NoError(t, l.Set(configs[n*3%len(configs)])) })
		meanwhile(time.Millisecond, func(int) { assert.NoError(t, l.Reset()) })
		meanwhile(800*time.Microsecond, func(n int) { assert.NoError(t, l.Throttle().SetConcurrency(n%20)) })
		meanwhile(700*time.Microsecond, func(int) {
			saved, err := l.Save()
			assert.NoError(t, err)
			if err := l.Restore(saved); err != nil { // it may be another law by now
				assert.ErrorAs(t, err, new(*adaptive.SavedError))
			}
		})
		meanwhile(500*time.Microsecond, func(int) {
			_ = l.Stats().Why + fmt.Sprint(l.Stats().View, l.Stats())
			l.Learn(time.Now(), of(adaptive.OK))
			if p, err := l.Throttle().TryAcquire(throttle.Cost{}); err == nil {
				p.Cancel()
			}
		})
		calls.Wait()
		cancel()
		others.Wait()
		s := l.Stats()
		assert.Zero(t, s.InFlight+s.Waiting)
		require.NoError(t, l.Set(guard.Policy{}))
		assert.NoError(t, do(t.Context(), l, ok(0)))
	})
}

// restoring is a law that is replaced while it restores.
type restoring struct {
	adaptive.AIMD
	meanwhile func()
}

func (r *restoring) Restore(now time.Time, seed uint64, saved []byte) (adaptive.State, error) {
	r.meanwhile()
	return r.AIMD.Restore(now, seed, saved)
}

func TestSetAndRestoreTakeTurns(t *testing.T) {
	law := &restoring{AIMD: adaptive.AIMD{Initial: 3, Max: 3}}
	l := made(t, guard.Policy{Law: law})
	saved, err := l.Save()
	require.NoError(t, err)
	var wg sync.WaitGroup
	var changed atomic.Bool
	law.meanwhile = func() {
		wg.Go(func() {
			assert.NoError(t, l.Set(guard.Policy{Law: adaptive.AIMD{Initial: 7}}))
			changed.Store(true)
		})
		for range 1000 {
			runtime.Gosched() // were there no turns, it would be done by now
		}
		assert.False(t, changed.Load())
	}
	require.NoError(t, l.Restore(saved))
	wg.Wait()
	assert.Equal(t, 7, l.Stats().View.Concurrency)
}

// However Set and Reset overlap, the controller is that of the policy at the end.
func TestSetAndResetTakeTurns(t *testing.T) {
	l := made(t, capped(1))
	for range 100 {
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() { assert.NoError(t, l.Set(capped(2+i))) })
			wg.Go(func() { assert.NoError(t, l.Reset()) })
		}
		wg.Wait()
		runs := l.Stats().View.Concurrency
		require.NoError(t, l.Reset())
		require.Equal(t, l.Stats().View.Concurrency, runs)
	}
}
