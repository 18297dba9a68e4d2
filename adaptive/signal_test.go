package adaptive_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
)

// burst makes n calls at once, each of which is refused once, and waits until
// all have gone again.
func burst(ctx context.Context, t *testing.T, l *adaptive.Limiter, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for range n {
		fn, calls := refusedOnce(time.Second)
		wg.Go(func() {
			assert.NoError(t, do(ctx, l, func(ctx context.Context) error {
				time.Sleep(time.Second)
				return fn(ctx)
			}), "a signal fails nobody")
			assert.Equal(t, int64(2), calls.Load())
		})
	}
	wg.Wait()
}

// A node encloses its work with its own limiter, and says whether its hits go
// on to what encloses the node.
func TestPropagation(t *testing.T) {
	for _, tc := range []struct {
		name    string
		enclose func(ctx context.Context, child, parent, grandparent *adaptive.Limiter) context.Context
		windows [3]int // of child, parent and grandparent, which begin with 8
	}{
		{"nobody around", func(ctx context.Context, _, _, _ *adaptive.Limiter) context.Context { return ctx }, [3]int{4, 8, 8}},
		{"the child keeps its hits", func(ctx context.Context, c, p, _ *adaptive.Limiter) context.Context {
			return adaptive.Enclose(adaptive.Enclose(ctx, p, true), c, false)
		}, [3]int{4, 8, 8}},
		{"the child propagates", func(ctx context.Context, c, p, _ *adaptive.Limiter) context.Context {
			return adaptive.Enclose(adaptive.Enclose(ctx, p, false), c, true)
		}, [3]int{4, 4, 8}},
		{"two levels up", func(ctx context.Context, c, p, g *adaptive.Limiter) context.Context {
			return adaptive.Enclose(adaptive.Enclose(adaptive.Enclose(ctx, g, false), p, true), c, true)
		}, [3]int{4, 4, 4}},
		{"the parent keeps them", func(ctx context.Context, c, p, g *adaptive.Limiter) context.Context {
			return adaptive.Enclose(adaptive.Enclose(adaptive.Enclose(ctx, g, true), p, false), c, true)
		}, [3]int{4, 4, 8}},
		{"a limiter without an enclosure of its own", func(ctx context.Context, _, p, g *adaptive.Limiter) context.Context {
			return adaptive.Enclose(adaptive.Enclose(ctx, g, true), p, false)
		}, [3]int{4, 4, 8}},
		{"a level without a limiter", func(ctx context.Context, c, p, _ *adaptive.Limiter) context.Context {
			return adaptive.Enclose(adaptive.Enclose(adaptive.Enclose(ctx, p, true), nil, false), c, true)
		}, [3]int{4, 4, 8}},
		{"the parent is on the same key", func(ctx context.Context, c, _, g *adaptive.Limiter) context.Context {
			return adaptive.Enclose(adaptive.Enclose(adaptive.Enclose(ctx, g, false), c, true), c, true)
		}, [3]int{4, 8, 4}},
		{"the same parent twice", func(ctx context.Context, c, p, _ *adaptive.Limiter) context.Context {
			return adaptive.Enclose(adaptive.Enclose(adaptive.Enclose(ctx, p, true), p, true), c, true)
		}, [3]int{4, 4, 8}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				child, parent, grandparent := limiter(t, capped(8)), limiter(t, capped(8)), limiter(t, capped(8))
				ctx := tc.enclose(t.Context(), child, parent, grandparent)
				time.Sleep(time.Second)
				burst(ctx, t, child, 8)
				assert.Equal(t, tc.windows, [3]int{
					child.View().Concurrency, parent.View().Concurrency, grandparent.View().Concurrency,
				})
				assert.Equal(t, int64(8), child.View().Hits)
				assert.Zero(t, parent.View().Hits+grandparent.View().Hits)
				assert.Zero(t, parent.View().GateUntil)
			})
		})
	}
}

func TestASignalComesOncePerEpochOfTheParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		child, parent := limiter(t, capped(8)), limiter(t, capped(16))
		ctx := adaptive.Enclose(t.Context(), parent, false)
		for _, want := range []int{8, 4, 2} {
			time.Sleep(time.Minute)
			burst(ctx, t, child, 1)
			assert.Equal(t, want, parent.View().Concurrency)
		}
	})
}

func TestWhatASignalTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, above := &recording{}, &recording{}
		child, parent := limiter(t, adaptive.Config{Name: "child", Law: own}), limiter(t, adaptive.Config{Law: above})
		ctx := adaptive.Enclose(adaptive.Enclose(adaptive.Enclose(t.Context(), child, true), parent, true), child, true)
		sent := time.Now()
		calls := 0
		refusal := &adaptive.RateLimitHit{Kind: adaptive.KindTokens, RetryAfter: time.Minute, Source: "test"}
		require.NoError(t, do(ctx, child, func(context.Context) error {
			time.Sleep(time.Second)
			if calls++; calls == 1 {
				return refusal
			}
			return nil
		}))
		assert.Empty(t, own.hits, "it has heard of its own hit as a result")
		assert.Equal(t, []*adaptive.RateLimitHit{{
			Kind: adaptive.KindTokens, RetryAfter: time.Minute, Scope: "child", Source: "test", SentAt: sent, Cause: refusal,
		}}, above.hits)
	})
}

func TestAHitKeepsTheScopeThatItsAuthorGave(t *testing.T) {
	err := do(t.Context(), limiter(t, capped(1)), func(context.Context) error {
		return &adaptive.RateLimitHit{Scope: "organisation", RetryAfter: time.Hour}
	})
	assert.ErrorContains(t, err, `adaptive: rate limit hit on "organisation", retry after 1h0m0s`)
}

func TestOverloadIsNotPropagated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		child, parent := limiter(t, capped(8)), limiter(t, capped(8))
		calls := 0
		require.NoError(t, do(adaptive.Enclose(t.Context(), parent, true), child, func(context.Context) error {
			if calls++; calls == 1 {
				return statusError(529)
			}
			return nil
		}))
		assert.Equal(t, 8, parent.View().Concurrency)
	})
}

// The parent's calls in flight are not touched; a cut only holds back the next.
func TestASignalDoesNotDisturbTheParentsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		child, parent := limiter(t, capped(8)), limiter(t, capped(2))
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				assert.NoError(t, do(t.Context(), parent, func(ctx context.Context) error {
					fn, _ := refusedOnce(time.Second)
					return do(adaptive.Enclose(ctx, parent, false), child, fn)
				}))
			})
		}
		wg.Wait()
		assert.Equal(t, 1, parent.View().Concurrency)
	})
}

func TestEncloseWithoutALimiterChangesNothing(t *testing.T) {
	ctx := t.Context()
	assert.True(t, adaptive.Enclose(ctx, nil, true) == ctx)
}
