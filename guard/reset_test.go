package guard_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
)

func TestResetStartsTheLawAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(8))
		burst(t.Context(), t, l, 1)
		require.Equal(t, 4, l.Stats().View.Concurrency)
		require.NoError(t, l.Reset())
		v := l.Stats().View
		assert.Equal(t, 8, v.Concurrency)
		assert.Zero(t, v.Hits+v.Cuts)
		assert.Zero(t, l.Stats().Admitted)
	})
}

func TestResetKeepsTheHistoryOfTheWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := perMinute(t, 100)
		assert.Zero(t, waits(t, l, 100))
		require.NoError(t, l.Reset())
		assert.Equal(t, time.Minute, waits(t, l, 1))
	})
}

// A waiting call is not admitted between the pause of the old law and the new law.
func TestResetKeepsThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(8))
		fn, calls := rejectedOnce(time.Minute)
		began := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { assert.NoError(t, do(t.Context(), l, fn)) })
		synctest.Wait()
		gate := l.Stats().View.GateUntil
		assertJittered(t, time.Minute, gate.Sub(began))
		for range 2 { // it survives the second time as well
			require.NoError(t, l.Reset())
			synctest.Wait()
			assert.Equal(t, int64(1), calls.Load())
			assert.Equal(t, gate, l.Stats().View.GateUntil)
		}
		assert.Contains(t, l.Stats().Why, "the pause ends in 1m")
		require.NoError(t, do(t.Context(), l, ok(0)))
		assert.Equal(t, gate.Add(time.Second/8), time.Now(), "one in eight, over the second that stands for a round trip")
		wg.Wait()
	})
}

func TestAPauseFromBeforeAResetIsALowerBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(8))
		l.Learn(time.Now(), hitAfter(time.Second))
		require.NoError(t, l.Reset())
		l.Learn(time.Now(), hitAfter(time.Minute))
		assertJittered(t, time.Minute, time.Until(l.Stats().View.GateUntil))
		began := time.Now()
		require.NoError(t, do(t.Context(), l, ok(0)))
		assertJittered(t, time.Minute, time.Since(began))
	})
}

// The new state does not know the numbers of the calls in flight.
func TestABurstFromBeforeAResetCutsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(8))
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				calls := 0
				assert.NoError(t, do(t.Context(), l, func(context.Context) error {
					if calls++; calls == 1 {
						time.Sleep(time.Second + time.Duration(i))
						return statusError(429)
					}
					return nil
				}))
			})
		}
		time.Sleep(time.Second / 2)
		require.NoError(t, l.Reset())
		time.Sleep(time.Second/2 + time.Millisecond)
		assert.Equal(t, 4, l.Stats().View.Concurrency)
		assert.Equal(t, int64(1), l.Stats().View.Cuts)
		wg.Wait()
	})
}

func TestAPauseFromBeforeAResetIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		l.Learn(time.Now(), hitAfter(time.Minute))
		require.NoError(t, l.Reset())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.Error(t, do(ctx, l, ok(0)))
		assert.Equal(t, "the gate after a refusal", l.Stats().View.Bound)
	})
}

// brokenLaw starts until it is broken.
type brokenLaw struct{ broken *bool }

func (b brokenLaw) Start(now time.Time, seed uint64) (adaptive.State, error) {
	if *b.broken {
		return nil, io.EOF
	}
	return adaptive.AIMD{}.Start(now, seed)
}

func TestAFailedResetChangesNothing(t *testing.T) {
	broken := false
	l := made(t, guard.Policy{Law: brokenLaw{&broken}})
	l.Learn(time.Now(), of(adaptive.Hit))
	before := l.Stats().View
	broken = true
	require.ErrorIs(t, l.Reset(), io.EOF)
	assert.Equal(t, before, l.Stats().View)
	assert.Equal(t, "guard", l.Name())
}

// Reset opens a key as Reopen does, and observers learn it.
func TestResetOpensAClosedKey(t *testing.T) {
	for name, c := range map[string]struct {
		closes func(*guard.Guard)
		seen   []string // after the closing
	}{
		"by a used-up quota": {func(l *guard.Guard) {
			l.Learn(time.Now(), of(adaptive.Terminal))
		}, []string{"limiter.reopened: the learned state was reset"}},
		"when a look is due": {func(l *guard.Guard) {
			l.Learn(time.Now(), of(adaptive.Terminal))
			time.Sleep(time.Hour)
		}, []string{"limiter.reopened: the learned state was reset"}},
		"by silence": {func(l *guard.Guard) {
			for range 16 {
				l.Learn(time.Now(), hitAfter(time.Minute))
				time.Sleep(time.Minute)
			}
			l.Learn(time.Now(), of(adaptive.Hit))
		}, []string{"limiter.reopened: the learned state was reset"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen []string
				l := made(t, guard.Policy{Observer: keyEvents(&seen)})
				c.closes(l)
				require.Contains(t, l.Stats().Why, "probes it")
				seen = nil
				require.NoError(t, l.Reset())
				assert.Equal(t, c.seen, seen)
				require.NoError(t, l.Stats().Closed)
				assert.NotContains(t, l.Stats().Why, "probes")
				require.NoError(t, l.Reset())
				assert.Len(t, seen, 1, "it is open")
			})
		})
	}
}

// A long Retry-After is a pause: it outlasts Reset, and one call looks.
func TestResetKeepsTheLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		l := made(t, guard.Policy{Observer: keyEvents(&seen)})
		answers(t, l, &adaptive.RateLimitHit{RetryAfter: time.Hour})
		require.NoError(t, l.Reset())
		assert.Len(t, seen, 1, "it is still closed")
		time.Sleep(time.Minute)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { assert.NoError(t, do(t.Context(), l, ok(time.Second))) })
		}
		synctest.Wait()
		assert.Equal(t, 1, l.Stats().InFlight)
		wg.Wait()
		assert.Contains(t, seen, "limiter.reopened: a call found it open")
		require.NoError(t, l.Reset())
		assert.NotContains(t, l.Stats().Why, "not trusted")
	})
}

// What the program has closed, it reopens.
func TestResetLeavesCloseInForce(t *testing.T) {
	var seen []string
	l := made(t, guard.Policy{Observer: keyEvents(&seen)})
	l.Learn(time.Now(), of(adaptive.Terminal))
	l.Close(io.EOF)
	require.NoError(t, l.Reset())
	assert.Equal(t, []string{"limiter.closed: quota exhausted", "limiter.closed: "}, seen)
	assert.ErrorIs(t, do(t.Context(), l, ok(0)), io.EOF)
}
