package flow_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/throttle"
)

// What nodes tell besides their events: items that have begun, the length of a
// slice, and what their limiter is made of.
func TestPendingItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen shots
		b := timed("b", 5).WithParallel(2)
		_, err := flow.Run(t.Context(), halfLate(b), &trail{}, flow.WithProgress(seen.take, 0))
		require.NoError(t, err)
		var pending []int64
		for _, p := range seen.all {
			pending = append(pending, p.Items.Pending)
		}
		require.Equal(t, []int64{2, 2, 1, 0}, pending)
	})
}

func TestItemsThatAreLeftBehindAreNotPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		var seen shots
		b := node.BatchFunc("b", count[*trail](9), func(ctx context.Context, i int) (int, error) {
			<-ctx.Done()
			return i, ctx.Err()
		}, nil).WithParallel(3).WithGrace(time.Second)
		_, err := flow.Run(ctx, b, &trail{}, flow.WithProgress(seen.take, 0))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Len(t, seen.all, 3)
		require.Equal(t, event.Items{Pending: 3}, seen.all[1].Items)
		require.Equal(t, event.Items{Abandoned: 3}, seen.all[2].Items)
	})
}

func TestASliceTellsItsLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := node.Map("m", func(_ context.Context, i int) (int, error) { time.Sleep(time.Second); return i, nil })
		p := final(t, node.Do("all", func(ctx context.Context, _ *trail) error {
			_, err := m.All(ctx, make([]int, 3))
			return err
		}))
		require.Equal(t, event.Items{Total: 3, Done: 3, Rate: 1}, p.Items)
	})
}

func TestMermaidOfRealNodes(t *testing.T) {
	shared, err := guard.New(guard.Policy{Name: "key"})
	require.NoError(t, err)
	nothing := func(context.Context, *trail) error { return nil }
	own := node.Do("own", nothing).With(guard.Policy{Limits: throttle.Limits{Concurrency: 2}})
	drawing := flow.Mermaid(flow.New("f", own).
		Then(node.Do("preset", nothing).With(guard.Policy{Preset: presets.OpenAITier1})).
		Then(node.Do("shared", nothing).Within(shared)).
		Then(timed("many", 1).With(guard.Policy{Law: adaptive.AIMD{}})).
		Then(step("none")), flow.ShowLimits())
	requireMermaid(t, drawing)
	for _, want := range []string{
		`"own<br/>2 concurrent<br/>law Measured"`, `"preset<br/>preset openai/tier1<br/>law Measured"`,
		`"shared<br/>guard key"`, `"many (batch)<br/>law AIMD"`, `"none"`,
	} {
		require.Contains(t, drawing, want)
	}
	own.With(guard.Policy{Limits: throttle.Limits{Concurrency: 3}}) // nothing was built
	require.NoError(t, own.Validate())
}
