package guard_test

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
)

// answers makes calls that fail with each error, a second apart.
func answers(t *testing.T, l *guard.Guard, errs ...error) {
	t.Helper()
	var wg sync.WaitGroup
	for i, err := range errs {
		wg.Go(func() {
			assert.Error(t, do(t.Context(), l, func(context.Context) error {
				time.Sleep(time.Duration(i+1) * time.Second)
				return err
			}))
		})
	}
	wg.Wait()
}

func TestALongRetryAfterIsReturnedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		began := time.Now()
		err := do(t.Context(), l, func(context.Context) error {
			return &adaptive.RateLimitHit{RetryAfter: 10*time.Minute + 1}
		})
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, err, &hit)
		assert.Zero(t, time.Since(began))
		assertJittered(t, 10*time.Minute, l.Stats().View.GateUntil.Sub(began), "the others have to wait")

		l = made(t, guard.Policy{})
		fn, _ := rejectedOnce(10 * time.Minute)
		require.NoError(t, do(t.Context(), l, fn), "ten minutes are waited out")
	})
}

func TestALongRetryAfterClosesTheGuardForThatLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(1))
		var queued, sent atomic.Int64
		call := func(fn func(context.Context) error) error {
			return do(t.Context(), l, func(ctx context.Context) error {
				sent.Add(1)
				return fn(ctx)
			})
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = call(func(context.Context) error {
				time.Sleep(time.Second)
				return &adaptive.RateLimitHit{RetryAfter: time.Hour}
			})
		})
		synctest.Wait()
		for range 5 {
			wg.Go(func() {
				var hit *adaptive.RateLimitHit
				if errors.As(call(func(context.Context) error { return nil }), &hit) && hit.RetryAfter == time.Hour {
					queued.Add(1)
				}
			})
		}
		wg.Wait()
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, call(func(context.Context) error { return nil }), &hit, "a later call")
		assert.Equal(t, int64(5), queued.Load(), "the waiting calls")
		assert.Equal(t, int64(1), sent.Load(), "none is sent after the rejection")

		time.Sleep(2 * time.Hour)
		require.NoError(t, call(func(context.Context) error { return nil }), "it opens again by itself")
	})
}

func TestTheLongestRetryAfterCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		answers(t, l,
			&adaptive.RateLimitHit{RetryAfter: 11 * time.Minute}, &adaptive.RateLimitHit{RetryAfter: 3 * time.Hour})
		time.Sleep(20 * time.Minute)
		began := time.Now()
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, do(t.Context(), l, ok(0)), &hit)
		assert.Equal(t, 3*time.Hour, hit.RetryAfter)
		assert.Zero(t, time.Since(began), "no call waits for the pause")
	})
}

func TestResetKeepsTheClosingOfALongRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		answers(t, l, &adaptive.RateLimitHit{RetryAfter: 5 * time.Hour})
		require.NoError(t, l.Reset())
		began := time.Now()
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, do(t.Context(), l, ok(0)), &hit)
		assert.Zero(t, time.Since(began))
	})
}

// The pause is jittered upwards: no call waits between the end of the closing and that of the pause.
func TestTheClosingLastsAsLongAsThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		answers(t, l, &adaptive.RateLimitHit{RetryAfter: 24 * time.Hour})
		time.Sleep(time.Until(l.Stats().View.GateUntil) - time.Nanosecond)
		require.Error(t, do(t.Context(), l, ok(0)))
		time.Sleep(time.Nanosecond)
		began := time.Now()
		require.NoError(t, do(t.Context(), l, ok(0)))
		assert.Zero(t, time.Since(began))
	})
}

// A Retry-After that no provider can mean holds for a day. Then one call probes.
func TestAnEndlessRetryAfterIsProbedAfterADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, law := range []adaptive.Law{nil, adaptive.AIMD{}, adaptive.Measured{}} {
			l := made(t, guard.Policy{Law: law})
			var sent atomic.Int64
			call := func(err error) error {
				return do(t.Context(), l, func(context.Context) error {
					sent.Add(1)
					time.Sleep(time.Second)
					return err
				})
			}
			endless := &adaptive.RateLimitHit{RetryAfter: 1<<63 - 1}
			for day := range 3 {
				var hit *adaptive.RateLimitHit
				require.ErrorAs(t, call(endless), &hit)
				assert.Equal(t, 24*time.Hour, hit.RetryAfter, "it fits an HTTP header")
				require.ErrorAs(t, call(nil), &hit)
				assert.Equal(t, 24*time.Hour, hit.RetryAfter)
				assert.EqualValues(t, day+1, sent.Load())
				time.Sleep(30 * time.Hour)
			}
			sent.Store(0)
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() { assert.NoError(t, call(nil)) })
			}
			synctest.Wait()
			assert.EqualValues(t, 1, sent.Load(), "the others wait for the probe")
			wg.Wait()
			assert.EqualValues(t, 5, sent.Load())
		}
	})
}

// A call with a deadline learns why the guard is closed, and not only that it is too late.
func TestAClosedGuardSaysWhyToACallWithADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		require.Error(t, do(t.Context(), l, func(context.Context) error { return &adaptive.RateLimitHit{RetryAfter: time.Hour} }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, do(ctx, l, ok(0)), &hit)
		assert.Equal(t, time.Hour, hit.RetryAfter)
	})
}

func TestANegativeRetryAfterIsNone(t *testing.T) {
	for _, after := range []time.Duration{-1, -time.Hour, math.MinInt64} {
		synctest.Test(t, func(t *testing.T) {
			g := made(t, guard.Policy{MaxWait: time.Minute})
			for _, answer := range []func(ctx context.Context) error{
				func(context.Context) error { return &adaptive.RateLimitHit{RetryAfter: after} },
				func(ctx context.Context) error { guard.Report(ctx, hitAfter(after)); return io.EOF },
			} {
				hit := new(adaptive.RateLimitHit)
				require.ErrorAs(t, do(t.Context(), g, answer), &hit)
				assert.Zero(t, hit.RetryAfter)
			}
		})
	}
}
