package throttle_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// threeWindows are limits as a provider of models sets them, wide enough never to bind.
func threeWindows() throttle.Limits {
	return throttle.Limits{Concurrency: 1 << 20, Windows: []throttle.Window{
		throttle.Sliding(throttle.MaxAmount, time.Hour),
		throttle.Sliding(throttle.MaxAmount, time.Hour).Of(throttle.Tokens),
		throttle.Bucket(1e12, throttle.MaxAmount).Of(throttle.Points),
	}}
}

func TestNothingIsAllocated(t *testing.T) {
	if throttle.RaceDetector {
		t.Skip("the race detector allocates")
	}
	l := newLimiter(t, threeWindows())
	full := newLimiter(t, windows(throttle.Sliding(1, time.Hour)))
	full.Allow(throttle.Cost{})
	ctx, c := t.Context(), throttle.Cost{Tokens: 900, Points: 2}
	for name, f := range map[string]func(){
		"Allow": func() { l.Allow(c) },
		"TryAcquire, Release": func() {
			p, _ := l.TryAcquire(c)
			p.Release()
		},
		"Acquire, Settle": func() {
			p, _ := l.Acquire(ctx, c)
			p.Settle(throttle.Cost{Tokens: 800, Points: 1})
		},
		"Acquire, Cancel": func() {
			p, _ := l.Acquire(ctx, c)
			p.Cancel()
		},
		"Wait":          func() { _ = l.Wait(ctx, c) },
		"Allow refused": func() { full.Allow(c) },
	} {
		assert.Zero(t, testing.AllocsPerRun(1000, f), name)
	}
}

func TestNothingIsAllocatedByGivingUp(t *testing.T) {
	if throttle.RaceDetector {
		t.Skip("the race detector allocates")
	}
	l := newLimiter(t, throttle.Limits{Concurrency: 1})
	_, err := l.TryAcquire(throttle.Cost{})
	require.NoError(t, err)
	ctx := &endsAtOnce{Context: t.Context(), done: make(chan struct{})}
	close(ctx.done)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		ctx.err = nil
		_ = l.Wait(ctx, throttle.Cost{})
	}))
	assert.Equal(t, int64(101), l.Stats().Abandoned)
}

func TestNothingIsAllocatedByWaiting(t *testing.T) {
	if throttle.RaceDetector {
		t.Skip("the race detector allocates")
	}
	synctest.Test(t, func(t *testing.T) {
		for name, lim := range map[string]throttle.Limits{
			"for a window": windows(throttle.Sliding(1, time.Millisecond)),
			"for a bucket": windows(throttle.Bucket(1000, 1)),
		} {
			l := newLimiter(t, lim)
			ctx := t.Context()
			wait := func() {
				p, _ := l.Acquire(ctx, throttle.Cost{})
				p.Release()
			}
			wait()
			wait()
			require.NotZero(t, l.Stats().Waits)
			assert.Zero(t, testing.AllocsPerRun(100, wait), name)
		}
	})
}
