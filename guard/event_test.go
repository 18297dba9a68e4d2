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
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

func TestEventsReachTheObserversOfPolicyAndContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ofGuard, ofContext journal
		l := made(t, guard.Policy{Name: "api", Law: adaptive.AIMD{Initial: 8, RecoveryThreshold: 1}, Observer: &ofGuard})
		ctx := event.With(t.Context(), &ofContext)

		rejection := &adaptive.RateLimitHit{Kind: adaptive.KindTokens, RetryAfter: 10 * time.Second}
		began, calls := time.Now(), 0
		require.NoError(t, do(ctx, l, func(context.Context) error {
			if calls++; calls == 1 {
				return rejection
			}
			return nil
		}))
		quota := statusError(402)
		require.Error(t, do(ctx, l, func(context.Context) error { return quota }))
		require.ErrorIs(t, do(ctx, l, ok(0)), adaptive.ErrQuotaExhausted, "which is not news")

		gate := l.Stats().View.GateUntil.Sub(began)
		want := []event.Event{
			{Time: began, Kind: event.LimiterHit, Wait: gate, Key: "tokens", Reason: "hit (tokens)", Err: rejection},
			{Time: began, Kind: event.LimiterCut, Wait: gate, From: 8, To: 4, Reason: "refused, limit on: tokens"},
			{Time: began.Add(gate), Kind: event.LimiterRecovery, From: 4, To: 5, Reason: "calls succeed"},
			{Time: began.Add(gate + time.Second/4), Kind: event.LimiterClosed, Reason: "quota exhausted", Err: quota},
		}
		for i := range want {
			want[i].Source, want[i].Index = "api", event.NoIndex
		}
		assert.Equal(t, want, ofGuard.events)
		assert.Equal(t, want, ofContext.events)
	})
}

func TestABurstGivesOneEventEachAndOneCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen journal
		burst(t.Context(), t, made(t, observed(capped(8), &seen)), 8)
		count := map[event.Kind]int{}
		for _, k := range seen.kinds() {
			count[k]++
		}
		assert.Equal(t, map[event.Kind]int{event.LimiterHit: 8, event.LimiterCut: 1}, count)
	})
}

func TestNoChangeNoEvent(t *testing.T) {
	var seen journal
	l := made(t, observed(guard.Policy{Law: adaptive.AIMD{Initial: 1, Max: 1, RecoveryThreshold: 1}}, &seen))
	for _, err := range []error{nil, io.EOF, statusError(400), statusError(500)} {
		_ = do(t.Context(), l, func(context.Context) error { return err })
	}
	assert.Empty(t, seen.kinds())
	l.Learn(time.Now(), of(adaptive.Hit))
	assert.Equal(t, []event.Kind{event.LimiterHit}, seen.kinds(), "at Min there is nothing to cut")
}

func TestAnObserverMayPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen journal
		rude := event.Func(func(event.Event) { panic("observer") })
		l := made(t, observed(capped(8), rude))
		burst(event.With(event.With(t.Context(), rude), &seen), t, l, 2)
		assert.ElementsMatch(t, []event.Kind{event.LimiterHit, event.LimiterCut, event.LimiterHit}, seen.kinds(), "two calls tell at the same time")
		assert.Zero(t, l.Stats().InFlight)
	})
}

// It delays the call that emits, and no other.
func TestAnObserverMayBeSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := event.Func(func(event.Event) { time.Sleep(time.Minute) })
		l := made(t, observed(capped(8), slow))
		fn, _ := rejectedOnce(time.Second)
		var wg sync.WaitGroup
		wg.Go(func() { assert.NoError(t, do(t.Context(), l, fn)) })
		synctest.Wait()
		began := time.Now()
		require.NoError(t, do(t.Context(), l, ok(0)))
		assertJittered(t, time.Second, time.Since(began))
		wg.Wait()
	})
}

func TestAnObserverMayAskTheGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l, parent *guard.Guard
		var views []adaptive.View
		curious := event.Func(func(event.Event) {
			views = append(views, l.Stats().View, parent.Stats().View)
			assert.NotEmpty(t, l.Stats().Why)
			assert.NoError(t, do(t.Context(), parent, ok(0)))
		})
		inner := observed(capped(8), curious)
		inner.Propagate = true
		l = made(t, inner)
		parent = made(t, observed(capped(8), curious))
		fn, _ := rejectedOnce(time.Second)
		require.NoError(t, do(t.Context(), parent, func(ctx context.Context) error { return do(ctx, l, fn) }))
		require.Len(t, views, 6) // the hit, the parent's cut and its own
		assert.Equal(t, 4, views[0].Concurrency, "the law knows already")
	})
}

func TestAPauseUntilThePastIsNone(t *testing.T) {
	var seen []event.Event
	g := made(t, guard.Policy{Observer: event.Func(func(e event.Event) { seen = append(seen, e) })})
	g.Pause(time.Time{})
	g.Pause(time.Now())
	assert.Empty(t, seen)
	assert.Zero(t, g.Stats().PausedUntil)
}

// Observers that do not receive every call receive waits for configured limits, at most one event every 10 s.
func TestAWaitForAConfiguredLimitIsAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, limits := range map[string]throttle.Limits{
			"waited for 1/s": rate(throttle.Sliding(1, time.Second)), "waited for the concurrency limit": slots(1),
		} {
			var seen []event.Event
			var mu sync.Mutex
			o := event.Func(func(e event.Event) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, e)
			})
			g := made(t, guard.Policy{Name: "api", Limits: limits, Observer: o})
			counts := &countsCalls{}
			ctx := event.With(t.Context(), counts)
			var wg sync.WaitGroup
			for range 21 {
				wg.Go(func() { assert.NoError(t, g.Do(ctx, throttle.Cost{}, takes(time.Second))) })
				synctest.Wait() // what holds a call back is what does when it comes
			}
			wg.Wait()
			require.Len(t, seen, 2, "in 20 s")
			assert.Equal(t, event.LimiterWaited, seen[0].Kind)
			assert.Equal(t, "api", seen[0].Source)
			assert.Equal(t, time.Second, seen[0].Wait)
			assert.Equal(t, name, seen[0].Reason)
			require.NoError(t, seen[0].Err)
			assert.Equal(t, []int{21, 0}, []int{counts.calls, counts.events}, "it receives each call")
		}
	})
}

// countsCalls receives each call.
type countsCalls struct {
	mu            sync.Mutex // guards the rest
	calls, events int
}

func (c *countsCalls) Observe(event.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events++
}

func (c *countsCalls) ObserveCall(event.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
}
