package guard_test

import (
	"context"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

func TestDoReturnsTheErrorOfTheCall(t *testing.T) {
	l := made(t, guard.Policy{})
	require.NoError(t, do(t.Context(), l, ok(0)))
	for _, err := range []error{io.EOF, statusError(400), statusError(500)} {
		calls := 0
		assert.Equal(t, err, do(t.Context(), l, func(context.Context) error { calls++; return err }))
		assert.Equal(t, 1, calls, "without Policy.Retry")
	}
	assert.Zero(t, l.Stats().InFlight)
}

func TestTheCallSeesTheContextOfDo(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	err := do(ctx, made(t, guard.Policy{}), func(ctx context.Context) error {
		assert.Equal(t, "value", ctx.Value(key{}))
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestDoWithAnEndedContextMakesNoCall(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.EOF)
	err := do(ctx, made(t, guard.Policy{}), func(context.Context) error { panic("called") })
	assert.ErrorIs(t, err, io.EOF)
}

func TestACostThatNeverFitsIsNotSent(t *testing.T) {
	l := made(t, guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(5, time.Second)}}})
	err := l.Do(t.Context(), throttle.Cost{Requests: 6}, func(context.Context) error { panic("called") })
	var cost *throttle.CostError
	require.ErrorAs(t, err, &cost)
	assert.Equal(t, "guard", cost.Limiter)
}

func TestAPanicReturnsTheSlot(t *testing.T) {
	l := made(t, capped(1))
	err := do(t.Context(), l, func(context.Context) error { panic("fn") })
	var panicked *fault.PanicError
	require.ErrorAs(t, err, &panicked)
	assert.Equal(t, "fn", panicked.Value)
	assert.Zero(t, l.Stats().InFlight)
	require.NoError(t, do(t.Context(), l, ok(0)))
}

// Whatever it panics with, and whatever it has reported before.
func TestAPanicIsNeverSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, p := range []guard.Policy{{}, capped(1)} {
			g, calls := made(t, p), 0
			err := do(t.Context(), g, func(ctx context.Context) error {
				calls++
				guard.Report(ctx, hitAfter(time.Second))
				panic(&adaptive.RateLimitHit{RetryAfter: time.Second})
			})
			require.ErrorAs(t, err, new(*fault.PanicError))
			assert.Equal(t, 1, calls)
			assert.Zero(t, g.Stats().View.Hits)
		}
	})
}

func TestGoexitReturnsTheSlot(t *testing.T) {
	l := made(t, capped(1))
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = do(t.Context(), l, func(context.Context) error {
			runtime.Goexit()
			return nil
		})
	})
	wg.Wait()
	assert.Zero(t, l.Stats().InFlight)
	assert.Zero(t, l.Stats().View.Hits)
}

func TestLimitsAreHardCaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{
			Limits: throttle.Limits{Concurrency: 3},
			Law:    adaptive.AIMD{Initial: 20, RecoveryThreshold: 1},
		})
		g := &gauge{}
		var wg sync.WaitGroup
		for range 60 {
			wg.Go(func() {
				assert.NoError(t, do(t.Context(), l, func(context.Context) error { g.run(time.Second); return nil }))
			})
		}
		wg.Wait()
		assert.Equal(t, int64(3), g.most.Load())
	})
}

func TestNewReportsEveryProblem(t *testing.T) {
	_, err := guard.New(guard.Policy{
		Name: "api", MaxWait: -1, Law: adaptive.AIMD{Min: -1, Backoff: 2},
		Limits: throttle.Limits{Concurrency: -1, Windows: []throttle.Window{{}}},
	})
	assert.Equal(t, []string{"Concurrency", "Windows[0]", "MaxWait", "Min", "Backoff"}, fieldsOf(err))
	assert.ErrorContains(t, err, `guard "api": MaxWait: -1ns is negative`)
}

func TestABadConcurrencyIsOneProblem(t *testing.T) {
	_, err := guard.New(guard.Policy{Name: "api", Limits: throttle.Limits{Concurrency: -1}})
	require.EqualError(t, err, `guard "api": Limits: throttle: Concurrency: -1 is negative: use 0 for unbounded, or at least 1`)
}

func TestAFakeClockEndsAPause(t *testing.T) {
	clock := clockwork.NewFakeClock()
	l := made(t, guard.Policy{Clock: clock})
	fn, calls := rejectedOnce(time.Hour / 12)
	done := make(chan error)
	go func() { done <- do(t.Context(), l, fn) }()
	require.NoError(t, clock.BlockUntilContext(t.Context(), 2)) // the gate's timer and that of MaxWait
	assert.Equal(t, int64(1), calls.Load())
	clock.Advance(6 * time.Minute)
	require.NoError(t, <-done)
	assert.Equal(t, int64(2), calls.Load())
}
