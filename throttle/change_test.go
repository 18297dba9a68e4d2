package throttle_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/throttle"
)

func TestSetLimitsWakesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, windows(throttle.Sliding(2, time.Minute)))
		calls := spawnN(l, 6)
		sleep(time.Second)
		assert.Equal(t, []int{0, 1}, order(calls...))
		require.NoError(t, l.SetLimits(windows(throttle.Sliding(5, time.Minute))))
		synctest.Wait()
		assert.Equal(t, []int{0, 1, 2, 3, 4}, order(calls...))
		require.NoError(t, l.SetLimits(windows(throttle.Sliding(1, 10*time.Second))))
		sleep(10*time.Second - 1)
		assert.False(t, calls[5].finished())
		sleep(1)
		assert.True(t, calls[5].finished(), "the timer follows the new limits, also when they are lower")
	})
}

func TestSetLimitsWithout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{Concurrency: 1, Windows: []throttle.Window{throttle.Sliding(2, time.Minute)}})
		calls := spawnN(l, 6)
		require.NoError(t, l.SetLimits(throttle.Limits{}))
		synctest.Wait()
		assert.Len(t, order(calls...), 6, "nothing is limited any more")
		assert.Equal(t, throttle.Limits{}, l.Limits())
	})
}

func TestSetLimitsFailsWhoeverNoLongerFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := throttle.Sliding(10, time.Second).Of(throttle.Tokens)
		l := newLimiter(t, windows(w), throttle.WithName("x"))
		require.True(t, l.Allow(throttle.Cost{Tokens: 3}))
		head, small, behind := spawn(l, throttle.Cost{Tokens: 8}, 0), spawn(l, throttle.Cost{Tokens: 4}, 0), spawn(l, throttle.Cost{Tokens: 6}, 0)
		lower := throttle.Sliding(5, time.Second).Of(throttle.Tokens)
		require.NoError(t, l.SetLimits(windows(lower)))
		synctest.Wait()
		want := &throttle.CostError{Limiter: "x", Unit: throttle.Tokens, Amount: 8, Max: 5, Window: lower}
		assert.Equal(t, want, head.err)
		assert.ErrorIs(t, behind.err, throttle.ErrCost, "not only at the head")
		assert.False(t, small.finished(), "3 are spent")
		sleep(time.Second)
		assert.Equal(t, time.Second, small.after, "the next goes on")
		assert.Equal(t, int64(3), l.Stats().Waits)
	})
}

func TestSetLimitsRefusedChangesNothing(t *testing.T) {
	lim := throttle.Limits{Concurrency: 3, Windows: []throttle.Window{throttle.Sliding(2, time.Minute), throttle.Bucket(1, 2).Of(throttle.Points)}}
	l := newLimiter(t, lim)
	require.Error(t, l.SetLimits(throttle.Limits{Concurrency: -1, Windows: []throttle.Window{throttle.Sliding(9, time.Minute)}}))
	assert.Equal(t, lim, l.Limits())
	require.NoError(t, l.SetConcurrency(5))
	lim.Concurrency = 5
	assert.Equal(t, lim, l.Limits())
	l.Limits().Windows[0] = throttle.Sliding(99, time.Minute)
	assert.Equal(t, lim, l.Limits(), "what is returned is a copy")
}

// Calls that were admitted before a unit was limited have nothing of it to give back.
func TestSetLimitsGivesNothingBackThatWasNotTaken(t *testing.T) {
	for name, w := range map[string]throttle.Window{
		"sliding": throttle.Sliding(10, time.Hour).Of(throttle.Tokens),
		"bucket":  throttle.Bucket(1, 10).Of(throttle.Tokens),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(t, throttle.Limits{})
				before, err := l.TryAcquire(throttle.Cost{Tokens: 10})
				require.NoError(t, err)
				require.NoError(t, l.SetLimits(windows(w)))
				require.True(t, l.Allow(throttle.Cost{Tokens: 10}))
				before.Cancel()
				assert.False(t, l.Allow(throttle.Cost{Tokens: 1}))
				// nor when the limits change once more
				before, _ = l.TryAcquire(throttle.Cost{})
				require.NoError(t, l.SetLimits(windows(w)))
				before.Settle(throttle.Cost{Tokens: 5})
				sleep(time.Second)
				assert.False(t, l.Allow(throttle.Cost{Tokens: 1}))
			})
		})
	}
}

// A smaller burst overflows, and what overflows cannot be given back. At the
// instant of a take, it is undefined how much of it that is.
func TestSetLimitsGivesNothingBackThatOverflowed(t *testing.T) {
	for _, tc := range []struct {
		name   string
		gap    time.Duration // between what was taken and the change
		bursts []int64       // one after the other, at first 10
		later  bool          // the one after the change is given back
		left   int64
	}{
		{"a larger burst", 0, []int64{12}, false, 4},
		{"the same", 0, []int64{10}, false, 4},
		{"a smaller one, a moment later", 1, []int64{4}, false, 2},
		{"a smaller one", 0, []int64{4}, false, 0},
		{"a larger one in between", 0, []int64{12, 4}, false, 0},
		{"a smaller one in between", 0, []int64{4, 12}, false, 0},
		{"what was taken after the change", 0, []int64{4}, true, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fake := clockwork.NewFakeClock()
			bucket := func(burst int64) throttle.Limits { return windows(throttle.Bucket(1, burst).Of(throttle.Tokens)) }
			l := newLimiter(t, bucket(10), throttle.WithClock(fake))
			fake.Advance(time.Second)
			p, err := l.TryAcquire(tokens(4))
			require.NoError(t, err)
			require.True(t, l.Allow(tokens(4)))
			fake.Advance(tc.gap)
			for _, burst := range tc.bursts {
				require.NoError(t, l.SetLimits(bucket(burst)))
			}
			after, err := l.TryAcquire(tokens(2))
			require.NoError(t, err, "2 were left")
			if tc.later {
				p = after
			}
			p.Cancel()
			assert.False(t, l.Allow(tokens(tc.left+1)))
			assert.True(t, tc.left == 0 || l.Allow(tokens(tc.left)))
		})
	}
}

// Two buckets of one unit each keep their own history.
func TestSetLimitsTwoBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := windows(throttle.Bucket(10, 2), throttle.Bucket(0.1, 100))
		l := newLimiter(t, lim)
		for range 50 {
			require.NoError(t, l.Wait(t.Context(), throttle.Cost{Requests: 2}))
		}
		sleep(time.Second)
		require.NoError(t, l.SetLimits(lim))
		assert.False(t, l.Allow(throttle.Cost{Requests: 2}), "the small one is full again, the large one is not")
		require.NoError(t, l.SetLimits(windows(throttle.Bucket(10, 2), throttle.Bucket(0.1, 200))))
		assert.False(t, l.Allow(throttle.Cost{Requests: 2}))
	})
}

func TestSetConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{Concurrency: 2, Windows: []throttle.Window{throttle.Sliding(8, time.Hour)}})
		calls := spawnN(l, 9)
		require.NoError(t, l.SetConcurrency(4))
		synctest.Wait()
		assert.Len(t, order(calls...), 4, "raised: at once")

		require.NoError(t, l.SetConcurrency(1))
		for i := range 3 {
			calls[i].permit.Release()
			synctest.Wait()
			assert.Len(t, order(calls...), 4, "lowered: nobody until the number is below it")
		}
		calls[3].permit.Release()
		synctest.Wait()
		assert.Len(t, order(calls...), 5)

		require.NoError(t, l.SetConcurrency(0))
		synctest.Wait()
		assert.Len(t, order(calls...), 8, "unbounded: only the window is left")
		calls[8].cancel(nil)
		synctest.Wait()
	})
}

func TestPauseUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{})
		begin := time.Now()
		l.PauseUntil(begin.Add(-time.Hour))
		assert.True(t, l.Allow(throttle.Cost{}), "the past does not matter")
		assert.True(t, l.Stats().PausedUntil.IsZero())

		l.PauseUntil(begin.Add(10 * time.Second))
		first := spawn(l, throttle.Cost{}, 0)
		l.PauseUntil(begin.Add(5 * time.Second))
		assert.Equal(t, begin.Add(10*time.Second), l.Stats().PausedUntil, "never shorter")
		_, err := l.TryAcquire(throttle.Cost{})
		var limited *throttle.LimitedError
		require.ErrorAs(t, err, &limited)
		assert.Equal(t, 10*time.Second, limited.RetryAfter)

		sleep(9 * time.Second)
		l.PauseUntil(begin.Add(20 * time.Second))
		sleep(11*time.Second - 1)
		assert.False(t, first.finished(), "longer, also for those who wait")
		sleep(1)
		assert.True(t, first.finished())
		assert.Equal(t, 20*time.Second, first.after)
		assert.True(t, l.Stats().PausedUntil.IsZero(), "over")

		l.PauseUntil(time.Now().Add(time.Hour))
		second := spawn(l, throttle.Cost{}, 0)
		l.Resume()
		synctest.Wait()
		assert.True(t, second.finished(), "the zero time lifts it at once")
		assert.Zero(t, second.after)
		assert.True(t, l.Stats().PausedUntil.IsZero())
	})
}

func TestPauseForgetsNoWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, windows(throttle.Sliding(1, time.Minute)))
		require.True(t, l.Allow(throttle.Cost{}))
		l.PauseUntil(time.Now().Add(time.Second))
		c := spawn(l, throttle.Cost{}, 0)
		sleep(time.Minute)
		assert.Equal(t, time.Minute, c.after, "the later of the two")
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{Concurrency: 1})
		p, err := l.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		calls := spawnN(l, 3)
		down, later := errors.New("down"), errors.New("later")
		l.Close(down)
		l.Close(later)
		synctest.Wait()
		for _, c := range calls {
			assert.Equal(t, down, c.err)
		}
		_, err = l.TryAcquire(throttle.Cost{})
		assert.Equal(t, down, err, "the first cause stays")
		_, err = l.Acquire(t.Context(), throttle.Cost{})
		assert.Equal(t, down, err)
		assert.Equal(t, down, l.Wait(t.Context(), throttle.Cost{}))
		assert.False(t, l.Allow(throttle.Cost{}))
		assert.Equal(t, down, l.Stats().Closed)
		p.Release()
		assert.Zero(t, l.Stats().InFlight, "calls in flight end as usual")

		l.Reopen()
		assert.NoError(t, l.Stats().Closed)
		assert.True(t, l.Allow(throttle.Cost{}))
		l.Close(nil)
		assert.EqualError(t, l.Wait(t.Context(), throttle.Cost{}), "throttle: limiter closed")
		require.NoError(t, l.SetLimits(throttle.Limits{}))
		assert.False(t, l.Allow(throttle.Cost{}), "new limits open nothing")
	})
}

// Of several reasons to be closed for some time the longest counts, and the first of those alike.
func TestTheLongestClosingCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{})
		begin := time.Now()
		a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
		for _, closing := range []struct {
			until time.Duration
			cause error
			want  error
		}{
			{time.Second, a, a},
			{2 * time.Second, b, b},
			{time.Second, c, b},
			{2 * time.Second, c, b},
		} {
			l.Update(func(time.Time) { l.CloseLocked(begin.Add(closing.until), closing.cause) })
			assert.Equal(t, closing.want, l.Stats().Closed)
		}
		sleep(2*time.Second - 1)
		assert.Equal(t, b, l.Check(throttle.Cost{}))
		sleep(1)
		assert.NoError(t, l.Check(throttle.Cost{}))
	})
}

// Calls that are too large are rejected for some time, and others are admitted.
func TestExclude(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{})
		large, larger := throttle.Cost{Tokens: 11}, throttle.Cost{Tokens: 12}
		over := &throttle.CostError{Limiter: "group", Unit: throttle.Tokens, Amount: 11, Max: 10}
		exclude := func() {
			l.Update(func(now time.Time) { l.ExcludeLocked(now.Add(time.Second), over) })
		}
		exclude()
		assert.Equal(t, &throttle.CostError{Limiter: "group", Unit: throttle.Tokens, Amount: 12, Max: 10}, l.Check(larger))
		assert.EqualValues(t, 11, over.Amount)
		assert.NoError(t, l.Check(throttle.Cost{Tokens: 10}))
		assert.NoError(t, l.Stats().Closed, "it is not closed")
		sleep(time.Second - 1)
		assert.ErrorIs(t, l.Check(large), throttle.ErrCost)
		sleep(1)
		assert.NoError(t, l.Check(large))

		exclude()
		l.Update(func(time.Time) { l.OpenLocked(assert.AnError) })
		assert.ErrorIs(t, l.Check(large), throttle.ErrCost)
		l.Update(func(time.Time) { l.OpenLocked(over) })
		assert.NoError(t, l.Check(large))

		exclude()
		l.Close(assert.AnError)
		exclude()
		assert.Equal(t, assert.AnError, l.Check(large), "a closed limiter stays closed")
		assert.Equal(t, assert.AnError, l.Check(throttle.Cost{}))
	})
}

func TestReopenKeepsHistoryAndPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, windows(throttle.Sliding(2, time.Minute)))
		require.True(t, l.Allow(throttle.Cost{}))
		l.PauseUntil(time.Now().Add(time.Second))
		l.Close(nil)
		l.Reset()
		l.Reopen()
		assert.False(t, l.Allow(throttle.Cost{}), "the pause")
		sleep(time.Second)
		assert.True(t, l.Allow(throttle.Cost{}))
		assert.False(t, l.Allow(throttle.Cost{}), "the history")
	})
}

func TestUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{Concurrency: 2})
		require.True(t, l.Allow(throttle.Cost{}))
		_, err := l.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		var at time.Time
		n := 0
		l.Update(func(now time.Time) { at, n = now, l.InFlightLocked() })
		assert.Equal(t, time.Now(), at)
		assert.Equal(t, 1, n)
		l.Update(nil)
	})
}

func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &law{}
		g.always(throttle.Forever)
		l := newLimiter(t, throttle.Limits{}, governed(g))
		head := spawn(l, throttle.Cost{}, 0)
		g.always(0)
		var at time.Time
		l.Look(func(now time.Time) { at = now })
		synctest.Wait()
		assert.Equal(t, time.Now(), at)
		assert.False(t, head.finished(), "the queue is left alone")
		l.Update(nil)
		synctest.Wait()
		assert.True(t, head.finished())
	})
}

func TestAPauseUntilThePastIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []event.Event
		l := newLimiter(t, throttle.Limits{}, throttle.WithObserver(event.Func(func(e event.Event) { seen = append(seen, e) })))
		sleep(time.Second)
		l.PauseUntil(time.Time{})
		l.PauseUntil(time.Now())
		l.PauseUntil(time.Now().Add(-time.Hour))
		assert.Empty(t, seen)
		assert.Zero(t, l.Stats().PausedUntil)
		l.PauseUntil(time.Unix(1<<40, 0))
		require.Len(t, seen, 1)
		assert.Positive(t, seen[0].Wait)
		assert.False(t, l.Allow(throttle.Cost{}))
	})
}
