//go:build !race

package guard_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// The race detector allocates on its own account.
func TestAllocationsOfDo(t *testing.T) {
	limits := throttle.Limits{Concurrency: 1000, Windows: []throttle.Window{throttle.Sliding(1<<40, time.Second).Of(throttle.Tokens)}}
	g := made(t, guard.Policy{Limits: limits, Law: adaptive.AIMD{Initial: 1000, Max: 1000}})
	two := made(t, guard.Policy{Limits: limits, Within: []*guard.Guard{g}})
	zero := made(t, guard.Policy{})
	in, cancel := context.WithCancel(t.Context())
	defer cancel()
	nested := func(ctx context.Context) error { return g.Do(ctx, throttle.Cost{}, nothing) }
	used := func(ctx context.Context) error { guard.Use(ctx, throttle.Cost{Tokens: 5}); return nil }
	for _, tc := range []struct {
		name  string
		ctx   context.Context //nolint:containedctx // a table
		guard *guard.Guard
		fn    func(context.Context) error
		want  float64
	}{
		{"Do makes the call's context", t.Context(), g, nothing, 1},
		{"a nested Do, and what was noted of the slot it takes over", t.Context(), g, nested, 3},
		{"Use", t.Context(), g, used, 1},
		{"with an observer of events", event.With(t.Context(), event.Func(func(event.Event) {})), g, nothing, 1},
		{"with an observer of calls", event.With(t.Context(), &countedCalls{}), g, nothing, 1},
		{"with an intake", intake.With(t.Context(), in), g, nothing, 1},
		{"two layers", t.Context(), two, nothing, 6},
		{"a Join of two layers", t.Context(), guard.Join(two, g), nothing, 6},
		{"without limits, the cost and the context", t.Context(), zero, nothing, 2},
	} {
		got := testing.AllocsPerRun(100, func() {
			_ = tc.guard.Do(tc.ctx, throttle.Cost{Tokens: 9}, tc.fn)
		})
		assert.LessOrEqual(t, got, tc.want, tc.name)
	}
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { _ = g.Try(t.Context(), throttle.Cost{}, nothing) }), 2.0, "Try")
}

type countedCalls struct {
	event.Func

	n int
}

func (c *countedCalls) ObserveCall(event.Call) { c.n++ }
