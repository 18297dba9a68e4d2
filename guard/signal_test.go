package guard_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
)

// inside makes a call on each guard inside of the call on the one before.
func inside(ctx context.Context, fn func(context.Context) error, guards ...*guard.Guard) error {
	if len(guards) == 0 {
		return fn(ctx)
	}
	return do(ctx, guards[0], func(ctx context.Context) error { return inside(ctx, fn, guards[1:]...) })
}

// A rejection signals the guards of the enclosing calls for as long as the
// policies propagate.
func TestPropagation(t *testing.T) {
	const g, p, c = 0, 1, 2 // grandparent, parent, child
	for _, tc := range []struct {
		name       string
		enclosing  []int
		propagates [3]bool
		windows    [3]int // of grandparent, parent and child, which begin with 8
	}{
		{"no enclosing call", nil, [3]bool{c: true}, [3]int{8, 8, 4}},
		{"nothing propagates", []int{p}, [3]bool{}, [3]int{8, 8, 4}},
		{"the parent alone", []int{p}, [3]bool{c: true}, [3]int{8, 4, 4}},
		{"the parent does not propagate", []int{g, p}, [3]bool{c: true}, [3]int{8, 4, 4}},
		{"the parent propagates", []int{g, p}, [3]bool{p: true, c: true}, [3]int{4, 4, 4}},
		{"the same parent twice", []int{g, p, p}, [3]bool{p: true, c: true}, [3]int{4, 4, 4}},
		{"the enclosing call is on the same guard", []int{g, c}, [3]bool{}, [3]int{8, 8, 4}},
		{"the same guard, which propagates", []int{g, c}, [3]bool{c: true}, [3]int{4, 8, 4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var all [3]*guard.Guard
				for i := range all {
					policy := capped(8)
					policy.Propagate = tc.propagates[i]
					all[i] = made(t, policy)
				}
				var enclosing []*guard.Guard
				for _, i := range tc.enclosing {
					enclosing = append(enclosing, all[i])
				}
				time.Sleep(time.Second)
				require.NoError(t, inside(t.Context(), func(ctx context.Context) error {
					burst(ctx, t, all[c], 8)
					return nil
				}, enclosing...))
				var windows [3]int
				for i := range all {
					windows[i] = all[i].Stats().View.Concurrency
				}
				assert.Equal(t, tc.windows, windows)
				assert.EqualValues(t, 8, all[c].Stats().View.Hits)
				assert.Zero(t, all[g].Stats().View.Hits+all[p].Stats().View.Hits)
				assert.Zero(t, all[p].Stats().View.GateUntil)
			})
		})
	}
}

func TestASignalCutsOncePerEpochOfTheParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		child, parent := made(t, propagating()), made(t, capped(16))
		for _, want := range []int{8, 4, 2} {
			time.Sleep(time.Minute)
			require.NoError(t, do(t.Context(), parent, func(ctx context.Context) error { burst(ctx, t, child, 1); return nil }))
			assert.Equal(t, want, parent.Stats().View.Concurrency)
		}
	})
}

func TestWhatASignalSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, above := &recording{}, &recording{}
		child := made(t, guard.Policy{Name: "child", Law: own, Propagate: true})
		parent := made(t, guard.Policy{Law: above, Propagate: true})
		sent, calls := time.Now(), 0
		rejection := &adaptive.RateLimitHit{Kind: adaptive.KindTokens, RetryAfter: time.Minute, Source: "test"}
		require.NoError(t, inside(t.Context(), func(context.Context) error {
			time.Sleep(time.Second)
			if calls++; calls == 1 {
				return rejection
			}
			return nil
		}, child, parent, child))
		assert.Empty(t, own.hits, "it knows of its own rejection as a result")
		assert.Equal(t, []*adaptive.RateLimitHit{{
			Kind: adaptive.KindTokens, RetryAfter: time.Minute, Scope: "child", Source: "test", SentAt: sent, Cause: rejection,
		}}, above.hits)
	})
}

func TestARejectionKeepsItsScope(t *testing.T) {
	err := do(t.Context(), made(t, capped(1)), func(context.Context) error {
		return &adaptive.RateLimitHit{Scope: "organisation", RetryAfter: time.Hour}
	})
	assert.ErrorContains(t, err, `adaptive: rate limit hit on "organisation", retry after 1h0m0s`)
}

func TestAnOverloadIsNoSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		child, parent := made(t, capped(8)), made(t, capped(8))
		calls := 0
		require.NoError(t, inside(t.Context(), func(context.Context) error {
			if calls++; calls == 1 {
				return statusError(529)
			}
			return nil
		}, parent, child))
		assert.Equal(t, 8, parent.Stats().View.Concurrency)
		assert.Equal(t, 2, calls)
	})
}

// A signal only holds back the calls that come next.
func TestASignalEndsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		child, parent := made(t, propagating()), made(t, capped(2))
		var wg sync.WaitGroup
		for range 6 {
			fn, _ := rejectedOnce(time.Second)
			wg.Go(func() { assert.NoError(t, inside(t.Context(), fn, parent, child)) })
		}
		wg.Wait()
		assert.Equal(t, 1, parent.Stats().View.Concurrency)
	})
}

func TestASignalIsTheParentsEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen journal
		parent := made(t, guard.Policy{Name: "parent", Law: adaptive.AIMD{Initial: 8}, Observer: &seen})
		child := made(t, propagating())
		require.NoError(t, do(t.Context(), parent, func(ctx context.Context) error { burst(ctx, t, child, 4); return nil }))
		require.Len(t, seen.events, 1)
		e := seen.events[0]
		assert.Equal(t, event.LimiterCut, e.Kind)
		assert.Equal(t, "parent", e.Source)
		assert.Equal(t, []float64{8, 4}, []float64{e.From, e.To})
		assert.Zero(t, e.Wait)
		assert.Equal(t, "a 429 in api", e.Reason)
	})
}

// A lazy guard around a rejected call learns nothing from the signal.
func TestASignalWakesNoLaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, child := made(t, guard.Policy{Limits: capped(8).Limits, Propagate: true}), made(t, propagating())
		fn, _ := rejectedOnce(time.Second)
		require.NoError(t, inside(t.Context(), fn, parent, child))
		assert.Zero(t, parent.Stats().View)
	})
}

func propagating() guard.Policy {
	p := capped(8)
	p.Propagate = true
	return p
}
