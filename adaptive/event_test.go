package adaptive_test

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
)

// journal keeps what it observes.
type journal struct {
	mu     sync.Mutex
	events []event.Event
}

func (j *journal) Observe(e event.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

func (j *journal) kinds() (kinds []event.Kind) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func TestEventsReachTheLimitersObserverAndThatOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ofLimiter, ofContext journal
		l := limiter(t, adaptive.Config{Name: "api", Law: adaptive.AIMD{Initial: 8, RecoveryThreshold: 1}},
			adaptive.WithObserver(&ofLimiter))
		ctx := event.With(t.Context(), &ofContext)

		refusal := &adaptive.RateLimitHit{Kind: adaptive.KindTokens, RetryAfter: 10 * time.Second}
		began, calls := time.Now(), 0
		require.NoError(t, do(ctx, l, func(context.Context) error {
			if calls++; calls == 1 {
				return refusal
			}
			return nil
		}))
		quota := statusError(402)
		require.Error(t, do(ctx, l, func(context.Context) error { return quota }))
		require.ErrorIs(t, do(ctx, l, ok(0)), adaptive.ErrQuotaExhausted, "which is not news")

		gate := l.View().GateUntil.Sub(began)
		want := []event.Event{
			{Time: began, Kind: event.LimiterHit, Wait: gate, Key: "tokens", Reason: "hit (tokens)", Err: refusal},
			{Time: began, Kind: event.LimiterCut, Wait: gate, From: 8, To: 4, Reason: "refused, limit on: tokens"},
			{Time: began.Add(gate), Kind: event.LimiterRecovery, From: 4, To: 5, Reason: "calls succeed"},
			{Time: began.Add(gate + time.Second/4), Kind: event.LimiterClosed, Reason: "quota exhausted", Err: quota},
		}
		for i := range want {
			want[i].Source, want[i].Index = "api", event.NoIndex
		}
		assert.Equal(t, want, ofLimiter.events)
		assert.Equal(t, want, ofContext.events)
	})
}

func TestABurstGivesAHitEachAndOneCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen journal
		burst(t.Context(), t, limiter(t, capped(8), adaptive.WithObserver(&seen)), 8)
		count := map[event.Kind]int{}
		for _, k := range seen.kinds() {
			count[k]++
		}
		assert.Equal(t, map[event.Kind]int{event.LimiterHit: 8, event.LimiterCut: 1}, count)
	})
}

func TestASignalIsTheParentsEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen journal
		parent := limiter(t, adaptive.Config{Name: "parent", Law: adaptive.AIMD{Initial: 8}}, adaptive.WithObserver(&seen))
		burst(adaptive.Enclose(t.Context(), parent, false), t, limiter(t, capped(8)), 4)
		require.Len(t, seen.events, 1)
		e := seen.events[0]
		assert.Equal(t, event.LimiterCut, e.Kind)
		assert.Equal(t, "parent", e.Source)
		assert.Equal(t, []float64{8, 4}, []float64{e.From, e.To})
		assert.Zero(t, e.Wait)
		assert.Equal(t, "a hit below, on api", e.Reason)
	})
}

func TestNothingHappenedIsNoEvent(t *testing.T) {
	var seen journal
	l := limiter(t, adaptive.Config{Law: adaptive.AIMD{Initial: 1, Max: 1, RecoveryThreshold: 1}}, adaptive.WithObserver(&seen))
	for _, err := range []error{nil, io.EOF, statusError(400), statusError(500), givenUp(t)} {
		_ = do(t.Context(), l, func(context.Context) error { return err })
	}
	assert.Empty(t, seen.kinds())
	l.Learn(t.Context(), time.Now(), of(adaptive.Hit))
	assert.Equal(t, []event.Kind{event.LimiterHit}, seen.kinds(), "at Min there is nothing to cut")
}

func TestAnObserverMayPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen journal
		rude := event.Func(func(event.Event) { panic("observer") })
		l := limiter(t, capped(8), adaptive.WithObserver(rude))
		burst(event.With(event.With(t.Context(), rude), &seen), t, l, 2)
		assert.ElementsMatch(t, []event.Kind{event.LimiterHit, event.LimiterCut, event.LimiterHit}, seen.kinds(), "two calls tell at the same time")
		assert.Zero(t, l.Throttle().Stats().InFlight)
	})
}

// Whoever is told holds up the call that tells, and nobody else.
func TestAnObserverMayBeSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := event.Func(func(event.Event) { time.Sleep(time.Minute) })
		l := limiter(t, capped(8), adaptive.WithObserver(slow))
		fn, _ := refusedOnce(time.Second)
		var wg sync.WaitGroup
		wg.Go(func() { assert.NoError(t, do(t.Context(), l, fn)) })
		synctest.Wait()
		began := time.Now()
		require.NoError(t, do(t.Context(), l, ok(0)))
		assertJittered(t, time.Second, time.Since(began))
		wg.Wait()
	})
}

func TestAnObserverMayAskTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l, parent *adaptive.Limiter
		var views []adaptive.View
		curious := event.Func(func(event.Event) {
			views = append(views, l.View(), parent.View())
			assert.NotEmpty(t, l.Explain())
			assert.NoError(t, do(t.Context(), parent, ok(0)))
		})
		l = limiter(t, capped(8), adaptive.WithObserver(curious))
		parent = limiter(t, capped(8), adaptive.WithObserver(curious))
		fn, _ := refusedOnce(time.Second)
		require.NoError(t, do(adaptive.Enclose(t.Context(), parent, false), l, fn))
		require.Len(t, views, 6) // the hit, the parent's cut and its own
		assert.Equal(t, 4, views[0].Concurrency, "the law has heard already")
	})
}
