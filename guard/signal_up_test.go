package guard_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// A signal goes up from a guard that propagates, through those that bound nothing.
func TestSignalsGoUpFromWhatPropagates(t *testing.T) {
	limits := throttle.Limits{Concurrency: 3}
	for name, tc := range map[string]struct {
		inner, middle guard.Policy
		cuts          int64
	}{
		"neither":             {guard.Policy{}, guard.Policy{}, 0},
		"only the middle":     {guard.Policy{}, guard.Policy{Propagate: true}, 0},
		"through a bare one":  {guard.Policy{Propagate: true}, guard.Policy{}, 1},
		"not through another": {guard.Policy{Propagate: true}, guard.Policy{Limits: limits}, 0},
		"through both":        {guard.Policy{Propagate: true}, guard.Policy{Limits: limits, Propagate: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				outer := made(t, guard.Policy{Law: adaptive.AIMD{Initial: 8}})
				middle, inner := made(t, tc.middle), made(t, tc.inner)
				calls := 0
				require.NoError(t, outer.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
					return middle.Do(ctx, throttle.Cost{}, func(ctx context.Context) error {
						return inner.Do(ctx, throttle.Cost{}, func(context.Context) error {
							if calls++; calls == 1 {
								return &adaptive.RateLimitHit{RetryAfter: time.Second}
							}
							return nil
						})
					})
				}))
				assert.Equal(t, tc.cuts, outer.Stats().View.Cuts)
			})
		})
	}
}

// limitedError is an error that a breaker is not to count, whatever is in it.
type limitedError struct{ error }

func (limitedError) RateLimited() bool { return true }

func (e limitedError) Unwrap() error { return e.error }

func TestAnErrorThatSaysThatItIsLimitedOpensNoBreaker(t *testing.T) {
	for _, inside := range []error{errors.New("x"), &fault.PanicError{Value: "judged further in"}} {
		g := made(t, guard.Policy{Breaker: &breaker.Config{Failures: 1}})
		for range 2 {
			err := g.Do(t.Context(), throttle.Cost{}, func(context.Context) error { return limitedError{inside} })
			assert.NotErrorIs(t, err, breaker.ErrOpen)
		}
	}
}

func TestTheObserversOfAGuardAndOfItsBreaker(t *testing.T) {
	var got []string
	as := func(name string) event.Observer {
		return event.Func(func(e event.Event) { got = append(got, name+" "+string(e.Kind)) })
	}
	g := made(t, guard.Policy{Observer: as("guard"), Breaker: &breaker.Config{Failures: 1, Observer: as("breaker")}})
	require.Error(t, g.Do(t.Context(), throttle.Cost{}, func(context.Context) error { return errors.New("x") }))
	assert.Equal(t, []string{"guard breaker.opened", "breaker breaker.opened"}, got)
}

// What was reported inside of an attempt is what End without a verdict goes by.
func TestEndGoesByTheReport(t *testing.T) {
	boom := errors.New("boom")
	for given, want := range map[adaptive.Verdict]int64{adaptive.Unclassified: 1, adaptive.OK: 0} {
		g := made(t, guard.Policy{})
		call := g.Begin(throttle.Cost{})
		ctx, err := call.Admit(t.Context())
		require.NoError(t, err)
		guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Hit, Final: true})
		again, err := call.End(adaptive.Feedback{Verdict: given, Err: boom})
		require.ErrorIs(t, err, boom)
		assert.False(t, again)
		assert.Equal(t, want, g.Stats().View.Hits)
	}
}

func TestAllocationsOfAnObservedCall(t *testing.T) {
	g := made(t, guard.Policy{Law: adaptive.AIMD{}})
	ctx := event.With(t.Context(), &deaf{})
	f := func(context.Context) error { return nil }
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { _ = g.Do(ctx, throttle.Cost{}, f) }), 1.0)
}

// deaf observes, and follows nothing.
type deaf struct{}

func (*deaf) Observe(event.Event) {}
