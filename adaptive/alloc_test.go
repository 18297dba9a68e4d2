//go:build !race

package adaptive_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// The race detector allocates on its own account.
func TestAllocations(t *testing.T) {
	l := benchLimiter(t)
	in, cancel := context.WithCancel(t.Context())
	defer cancel()
	nested := func(ctx context.Context) error { return l.Do(ctx, throttle.Cost{}, nothing) }
	used := func(ctx context.Context) error { adaptive.Use(ctx, throttle.Cost{Tokens: 5}); return nil }
	for _, tc := range []struct {
		name string
		ctx  context.Context //nolint:containedctx // a table
		fn   func(context.Context) error
		want float64
	}{
		{"Do makes the call's context", t.Context(), nothing, 1},
		{"each nested Do makes one more", t.Context(), nested, 2},
		{"Use", t.Context(), used, 1},
		{"with an observer of events", event.With(t.Context(), event.Func(func(event.Event) {})), nothing, 1},
		{"with an observer of calls", event.With(t.Context(), &countedCalls{}), nothing, 1},
		{"with an intake", intake.With(t.Context(), in), nothing, 1},
	} {
		assert.InDelta(t, tc.want, testing.AllocsPerRun(100, func() {
			_ = l.Do(tc.ctx, throttle.Cost{Tokens: 9}, tc.fn)
		}), 0, tc.name)
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		p, _ := l.Throttle().Acquire(t.Context(), throttle.Cost{})
		p.Release()
	}))
}

type countedCalls struct {
	event.Func

	n int
}

func (c *countedCalls) ObserveCall(event.Call) { c.n++ }
