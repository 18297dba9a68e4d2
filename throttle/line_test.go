package throttle_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// waiting has n joint calls wait for limiters until the returned function is called.
func waiting(t *testing.T, n int, limiters ...*throttle.Limiter) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if end, err := all(ctx, limiters...); err == nil {
				end()
			}
		})
	}
	synctest.Wait()
	return func() {
		cancel()
		wg.Wait()
	}
}

// A joint call knows at once that its deadline is before its turn in the line.
func TestADeadlineCountsTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, all2 := limited(t, within(throttle.Sliding(1, time.Hour))), limited(t, throttle.Limits{Concurrency: 9})
		end, err := all(t.Context(), key, all2)
		require.NoError(t, err)
		end()
		defer waiting(t, 3, key, all2)()
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Hour-1)
		defer cancel()
		_, err = all(ctx, key, all2)
		var late *throttle.DeadlineError
		require.ErrorAs(t, err, &late)
		assert.Equal(t, 4*time.Hour, late.Wait)
		other := limited(t, throttle.Limits{Concurrency: 9})
		end, err = all(ctx, other, all2)
		require.NoError(t, err, "another line is not behind it")
		end()
	})
}

// A joint call waits for each limiter that it needs, wherever it stands.
func TestJointCallsFillTheQueueOfEachLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, outer := limited(t, within(throttle.Sliding(1, time.Hour))), limited(t, throttle.Limits{Concurrency: 1})
		outer.SetMaxQueue(2)
		require.True(t, key.Allow(throttle.Cost{}))
		end := waiting(t, 2, key, outer)
		assert.Equal(t, 2, outer.Stats().Waiting)
		_, err := all(t.Context(), key, outer)
		require.ErrorAs(t, err, new(*throttle.LimitedError))
		end()
		assert.Zero(t, outer.Stats().Waiting+key.Stats().Waiting)
	})
}

// A call that does not wait learns how long the slowest of its limiters takes, behind its line.
func TestTryAcquireAllNamesTheLongestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		minute, hour := limited(t, within(throttle.Sliding(1, time.Minute))), limited(t, within(throttle.Sliding(1, time.Hour)))
		end, err := all(t.Context(), minute, hour)
		require.NoError(t, err)
		end()
		try := func() time.Duration {
			var no *throttle.LimitedError
			require.ErrorAs(t, throttle.TryAcquireAll([]*throttle.Limiter{minute, hour}, throttle.Cost{}, make([]throttle.Permit, 2)), &no)
			return no.RetryAfter
		}
		assert.Equal(t, time.Hour, try())
		defer waiting(t, 2, minute, hour)()
		assert.Equal(t, 3*time.Hour, try())
	})
}

// Calls with the same limiters are one line, in whatever order they name them.
func TestALineIsASetOfLimiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := limited(t, throttle.Limits{Concurrency: 1}), limited(t, within(throttle.Sliding(1, time.Minute)))
		end, err := all(t.Context(), x, y)
		require.NoError(t, err)
		end()
		var mu sync.Mutex
		var served []int
		var wg sync.WaitGroup
		for i, set := range [][]*throttle.Limiter{{x, y}, {y, x}, {x, y}, {y, x}} {
			wg.Go(func() {
				end, err := all(t.Context(), set...)
				if assert.NoError(t, err) {
					mu.Lock()
					served = append(served, i)
					mu.Unlock()
					end()
				}
			})
			synctest.Wait()
		}
		assert.Equal(t, 4, x.Stats().Waiting)
		assert.Equal(t, 4, y.Stats().Waiting)
		wg.Wait()
		assert.Equal(t, []int{0, 1, 2, 3}, served)
		assert.Zero(t, x.Stats().InFlight+y.Stats().InFlight)
	})
}

// A line with a lower limit of its own has its share of a busy limiter in every window,
// although the windows of both end at the same instant.
func TestALineWithALimitOfItsOwnGetsItsShare(t *testing.T) {
	for name, direct := range map[string]func(outer *throttle.Limiter) []*throttle.Limiter{
		"beside callers of the limiter itself": func(outer *throttle.Limiter) []*throttle.Limiter { return []*throttle.Limiter{outer} },
		"beside another line": func(outer *throttle.Limiter) []*throttle.Limiter {
			return []*throttle.Limiter{limited(t, within(throttle.Sliding(45, time.Second))), outer}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				outer, own := limited(t, within(throttle.Sliding(50, time.Second))), limited(t, within(throttle.Sliding(10, time.Second)))
				others := direct(outer)
				began := time.Now()
				var mu sync.Mutex
				served := map[time.Duration]int{} // of the line, by second
				var wg sync.WaitGroup
				call := func(limiters []*throttle.Limiter, count int) {
					wg.Go(func() {
						end, err := all(t.Context(), limiters...)
						if assert.NoError(t, err) {
							mu.Lock()
							served[time.Since(began).Truncate(time.Second)] += count
							mu.Unlock()
							end()
						}
					})
				}
				for range 600 {
					call(others, 0)
				}
				synctest.Wait()
				for range 150 {
					call([]*throttle.Limiter{own, outer}, 1)
				}
				wg.Wait()
				shared := 0
				for second := range 10 { // others wait in all of them
					if served[time.Duration(second+1)*time.Second] >= 5 {
						shared++
					}
				}
				assert.GreaterOrEqual(t, shared, 10, "%v", served)
			})
		})
	}
}

// Lines are served in turn: a call knows at once how many lines stand before it.
func TestADeadlineAndATryCountTheOtherLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer := limited(t, within(throttle.Sliding(1, time.Second)))
		require.True(t, outer.Allow(throttle.Cost{}))
		const lines = 50
		for range lines {
			t.Cleanup(waiting(t, 2, limited(t, throttle.Limits{Concurrency: 9}), outer))
		}
		key := limited(t, throttle.Limits{Concurrency: 9})
		wait := (lines + 1) * time.Second
		try := func(limiters ...*throttle.Limiter) time.Duration {
			err := throttle.TryAcquireAll(limiters, throttle.Cost{}, make([]throttle.Permit, len(limiters)))
			var limited *throttle.LimitedError
			require.ErrorAs(t, err, &limited)
			return limited.RetryAfter
		}
		assert.Equal(t, wait, try(key, outer))
		assert.Equal(t, wait, try(outer))
		soon, cancel := context.WithTimeout(t.Context(), wait-1)
		defer cancel()
		for _, limiters := range [][]*throttle.Limiter{{key, outer}, {outer}} {
			var late *throttle.DeadlineError
			_, err := all(soon, limiters...)
			require.ErrorAs(t, err, &late)
			assert.Equal(t, wait, late.Wait)
		}
		begin := time.Now()
		enough, cancel := context.WithTimeout(t.Context(), wait+1)
		defer cancel()
		end, err := all(enough, key, outer)
		require.NoError(t, err)
		end()
		assert.Equal(t, wait, time.Since(begin))
	})
}

// A line that waits for another limiter is overtaken: it makes no call late.
func TestADeadlineDoesNotCountALineThatWaitsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, slow := limited(t, within(throttle.Sliding(1, time.Second))), limited(t, within(throttle.Sliding(1, time.Hour)))
		require.True(t, slow.Allow(throttle.Cost{}))
		for range 9 {
			t.Cleanup(waiting(t, 2, outer, limited(t, throttle.Limits{Concurrency: 9}), slow))
		}
		require.True(t, outer.Allow(throttle.Cost{}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second+1)
		defer cancel()
		end, err := all(ctx, outer, limited(t, throttle.Limits{Concurrency: 9}))
		require.NoError(t, err)
		end()
	})
}
