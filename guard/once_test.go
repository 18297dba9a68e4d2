package guard_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

func TestTryReturnsARejection(t *testing.T) {
	for _, p := range []guard.Policy{{}, {Law: adaptive.Measured{}}, {Retry: &retry.Policy{}}} {
		g, calls := made(t, p), 0
		err := g.Try(t.Context(), throttle.Cost{}, func(context.Context) error {
			calls++
			return &adaptive.RateLimitHit{RetryAfter: time.Second}
		})
		require.ErrorAs(t, err, new(*adaptive.RateLimitHit))
		assert.Equal(t, 1, calls)
		assert.Zero(t, g.Stats().InFlight)
	}
}

func TestAJoinOfNothingReturnsARejection(t *testing.T) {
	calls := 0
	err := guard.Join(nil).Do(t.Context(), throttle.Cost{}, func(context.Context) error {
		calls++
		return &adaptive.RateLimitHit{RetryAfter: time.Millisecond}
	})
	require.ErrorAs(t, err, new(*adaptive.RateLimitHit))
	assert.Equal(t, 1, calls)
}

func TestAJoinOfNothingMakesNoCallUnderAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.EOF)
	require.NoError(t, assertNotCalled(ctx, t, guard.Join(nil), io.EOF))
	assert.ErrorIs(t, guard.Join().Try(ctx, throttle.Cost{}, nothing), io.EOF)
}

func TestGoexitInADetectorReturnsTheSlots(t *testing.T) {
	outer := made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 1}})
	g := made(t, guard.Policy{
		Within: []*guard.Guard{outer}, Limits: throttle.Limits{Concurrency: 1},
		Detector: func(error) adaptive.Feedback { runtime.Goexit(); return adaptive.Feedback{} },
	})
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = g.Do(context.Background(), throttle.Cost{}, func(context.Context) error { return errors.New("boom") })
	}()
	<-over
	assert.Zero(t, g.Stats().InFlight+outer.Stats().InFlight)
}

func TestAPanicOfALawReturnsTheSlotsOfAllLayers(t *testing.T) {
	outer := made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 1}})
	g := made(t, guard.Policy{Within: []*guard.Guard{outer}, Limits: throttle.Limits{Concurrency: 1}, Law: fragile{}})
	assert.NotPanics(t, func() { assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing)) })
	assert.Zero(t, g.Stats().InFlight+outer.Stats().InFlight)
	assert.Contains(t, g.Stats().Why, "the law guard_test.fragile panicked")
}

// fragile is a law that panics when a call ends.
type fragile struct{ adaptive.AIMD }

func (f fragile) Start(now time.Time, seed uint64) (adaptive.State, error) {
	s, err := f.AIMD.Start(now, seed)
	return fragileState{s}, err
}

type fragileState struct{ adaptive.State }

func (fragileState) OnResult(time.Time, throttle.Sent, int, adaptive.Feedback) { panic("fragile") }

func TestSetOfADetectorWhereAnotherGuardLearns(t *testing.T) {
	outer := made(t, guard.Policy{Name: "outer"})
	g := made(t, guard.Policy{Within: []*guard.Guard{outer}})
	require.ErrorContains(t, g.Set(guard.Policy{Detector: func(error) adaptive.Feedback { return adaptive.Feedback{} }}), "outer")
}

func TestRestoreOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{})
		saved, err := g.Save()
		require.NoError(t, err)
		assert.NoError(t, made(t, guard.Policy{}).Restore(saved))
	})
}

// What a caller that does not wait is asked to wait is how long calls take, if
// only the end of one helps.
func TestRetryAfterIsHowLongCallsTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 1}})
		after := func() time.Duration {
			done := make(chan error)
			go func() { done <- do(t.Context(), l, ok(40*time.Second)) }()
			synctest.Wait()
			var limited *throttle.LimitedError
			require.ErrorAs(t, l.Try(t.Context(), throttle.Cost{}, ok(0)), &limited)
			require.NoError(t, <-done)
			return limited.RetryAfter
		}
		assert.Equal(t, time.Second, after(), "no call has ended yet")
		assert.Equal(t, 40*time.Second, after())
	})
}
