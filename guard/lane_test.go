package guard_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/throttle"
)

// lanes are the two kinds of calls in a lane: those without admission, and others.
var lanes = map[string]guard.Policy{
	"bare":    {},
	"limited": {Limits: throttle.Limits{Concurrency: 2}, Law: adaptive.AIMD{Initial: 2}},
}

func admit(t *testing.T, n inflight.Lane, c throttle.Cost) context.Context {
	t.Helper()
	n.Begin(c)
	ctx, err := n.Admit(t.Context())
	require.NoError(t, err)
	return ctx
}

func end(t *testing.T, n inflight.Lane, err error) (again bool) {
	t.Helper()
	if err == nil && n.Done() {
		return false
	}
	again, got := n.End(adaptive.Feedback{Err: err})
	if !again {
		assert.Equal(t, err, got)
	}
	return again
}

func TestAllocationsOfACallInALane(t *testing.T) {
	for name, policy := range lanes {
		n := inflight.NewLane(t.Context(), made(t, policy))
		got := testing.AllocsPerRun(1000, func() {
			n.Begin(throttle.Cost{})
			if _, err := n.Admit(t.Context()); err == nil && !n.Done() {
				_, _ = n.End(adaptive.Feedback{})
			}
		})
		assert.LessOrEqual(t, got, 0.1, name)
	}
}

// The contexts of calls are made many at a time, whichever lane they are in.
func TestAllocationsOfCallsInManyLanes(t *testing.T) {
	const lanes, calls = 16, 600
	g := made(t, guard.Policy{})
	got := testing.AllocsPerRun(3, func() {
		for range lanes {
			n := inflight.NewLane(t.Context(), g)
			for range calls {
				n.Begin(throttle.Cost{})
				if _, err := n.Admit(t.Context()); err != nil || !n.Done() {
					t.Error("the call was not made without admission")
				}
			}
		}
	})
	assert.LessOrEqual(t, got, 2.0*lanes+calls*lanes/1000+1, "a lane, what it shows, and 1 for 1,000 calls")
}

// A context that is used after its call has ended says nothing about the next one.
func TestACallInALaneIsNotThatBeforeIt(t *testing.T) {
	for name, policy := range lanes {
		for _, asked := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				g := made(t, policy)
				n := inflight.NewLane(t.Context(), g)
				first := admit(t, n, throttle.Cost{})
				if asked {
					guard.Use(first, throttle.Cost{Tokens: 1})
				}
				require.False(t, end(t, n, nil))

				second := admit(t, n, throttle.Cost{})
				guard.Report(first, adaptive.Feedback{Verdict: adaptive.Hit})
				assert.False(t, inflight.Of(first).Abandon(nil))
				assert.NotSame(t, inflight.Of(first), inflight.Of(second))
				require.False(t, end(t, n, nil))
				assert.Zero(t, g.Stats().View.Hits)
				assert.Zero(t, g.Stats().InFlight)
				assert.EqualValues(t, 2, g.Stats().Admitted)
			})
		}
	}
}

func TestLateReportsFromCallsInALane(t *testing.T) {
	for name, policy := range lanes {
		g := made(t, policy)
		n := inflight.NewLane(t.Context(), g)
		var late sync.WaitGroup
		for range 200 {
			ctx := admit(t, n, throttle.Cost{})
			require.False(t, end(t, n, nil))
			late.Go(func() { guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Hit}) })
		}
		late.Wait()
		assert.Zero(t, g.Stats().View.Hits, name)
	}
}

func TestARejectedCallInALaneGoesOn(t *testing.T) {
	for name, policy := range lanes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := made(t, policy)
				n := inflight.NewLane(t.Context(), g)
				first := admit(t, n, throttle.Cost{})
				require.True(t, end(t, n, &adaptive.RateLimitHit{RetryAfter: 2 * time.Second}))
				began := time.Now()
				again, err := n.Admit(t.Context())
				require.NoError(t, err)
				assert.GreaterOrEqual(t, time.Since(began), 2*time.Second)
				assert.NotSame(t, inflight.Of(first), inflight.Of(again))
				assert.Equal(t, 1, inflight.FactsOf(again).Number())
				require.False(t, end(t, n, nil))

				admit(t, n, throttle.Cost{})
				require.False(t, end(t, n, nil))
				assert.EqualValues(t, 1, g.Stats().View.Hits)
				assert.Zero(t, g.Stats().InFlight)
			})
		})
	}
}

// What was reported in an attempt without an error counts.
func TestAReportInALane(t *testing.T) {
	for name, policy := range lanes {
		g := made(t, policy)
		n := inflight.NewLane(t.Context(), g)
		guard.Report(admit(t, n, throttle.Cost{}), adaptive.Feedback{Verdict: adaptive.Hit})
		assert.True(t, end(t, n, nil), name)
		assert.EqualValues(t, 1, g.Stats().View.Hits, name)
	}
}

// A call that is left in the middle keeps its record.
func TestACallInALaneThatWasAbandoned(t *testing.T) {
	for name, policy := range lanes {
		g := made(t, policy)
		n := inflight.NewLane(t.Context(), g)
		first := inflight.Of(admit(t, n, throttle.Cost{}))
		assert.True(t, first.Abandon(nil), name)
		assert.NotSame(t, first, inflight.Of(admit(t, n, throttle.Cost{})), name)
		require.False(t, end(t, n, nil))
		assert.Zero(t, g.Stats().InFlight, name)
	}
}

func TestALaneKeepsToTheCost(t *testing.T) {
	g := made(t, guard.Policy{})
	n := inflight.NewLane(t.Context(), g)
	for _, c := range []throttle.Cost{{}, tokens(3), tokens(4)} {
		ctx := admit(t, n, c)
		guard.Report(ctx, adaptive.Feedback{})
		f := inflight.Of(ctx).Judge(nil)
		assert.Equal(t, c, f.Used)
		require.False(t, end(t, n, nil))
	}
	n.Begin(throttle.Cost{Tokens: -1})
	_, err := n.Admit(t.Context())
	require.ErrorIs(t, err, throttle.ErrCost)
}

// An observer receives the calls of a lane too.
func TestALaneIsObserved(t *testing.T) {
	var seen counter
	n := inflight.NewLane(event.With(t.Context(), &seen), made(t, lanes["limited"]))
	admit(t, n, throttle.Cost{})
	require.False(t, end(t, n, nil))
	assert.EqualValues(t, 1, seen)
}

// counter counts calls.
type counter int

func (*counter) Observe(event.Event)      {}
func (n *counter) ObserveCall(event.Call) { *n++ }

// A law that panics leaves nothing in flight, and the lane goes on.
func TestALaneAfterALawThatPanics(t *testing.T) {
	g := made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 1}, Law: fragile{}})
	n := inflight.NewLane(t.Context(), g)
	for range 2 {
		admit(t, n, throttle.Cost{})
		assert.NotPanics(t, func() { assert.False(t, end(t, n, nil)) })
		assert.Zero(t, g.Stats().InFlight)
	}
}

// So does the end of a call that does not return.
func TestALaneAfterAnEndThatExits(t *testing.T) {
	g := made(t, guard.Policy{
		Limits: throttle.Limits{Concurrency: 1}, Law: adaptive.AIMD{},
		Detector: func(error) adaptive.Feedback { runtime.Goexit(); return adaptive.Feedback{} },
	})
	n := inflight.NewLane(t.Context(), g)
	var before inflight.Attempt
	for range 2 {
		ctx := admit(t, n, throttle.Cost{})
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = n.End(adaptive.Feedback{Err: errors.New("failed")}) })
		wg.Wait()
		assert.Zero(t, g.Stats().InFlight)
		assert.True(t, before != inflight.Of(ctx))
		before = inflight.Of(ctx)
		assert.False(t, before.Abandon(nil))
	}
}
