package node_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
)

// A run allocates for its workers and, once, for its results. An item of its
// own allocates nothing: its call has only a context of its own, of one word.
func TestAllocationsOfAnItem(t *testing.T) {
	const items = 10_000
	in := numbers(items)
	all := func(m batch) { _, _ = m.All(t.Context(), in) }
	stream := func(m batch) {
		for _, err := range m.Stream(t.Context(), node.Slice(in)) {
			require.NoError(t, err)
		}
	}
	for name, tc := range map[string]struct {
		batch batch
		run   func(batch)
	}{
		"all":       {node.Map("m", same), all},
		"stream":    {node.Map("m", same), stream},
		"unordered": {node.Map("m", same).Unordered(), stream},
		"limited":   {guarded(), all},
		"observed":  {guarded(), func(m batch) { _, _ = m.All(event.With(t.Context(), deaf{}), in) }},
	} {
		t.Run(name, func(t *testing.T) {
			tc.batch.WithParallel(16)
			const ofTheRun = items / 10
			got := testing.AllocsPerRun(2, func() { tc.run(tc.batch) })
			assert.LessOrEqual(t, got, float64(ofTheRun))
		})
	}
}

// deaf observes, and follows nothing: neither spans nor calls.
type deaf struct{}

func (deaf) Observe(event.Event) {}

// What All keeps of an item is its In, its Out and what became of it, here 8,
// 8 and 16 bytes; a limit of half as much again leaves room for the run.
func TestBytesOfAnItem(t *testing.T) {
	const items, most = 10_000, 48
	m, in := node.Map("m", same).WithParallel(16), numbers(items)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := m.All(t.Context(), in)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	assert.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(items*most))
}

// guarded is a batch with everything on.
func guarded() batch {
	return node.Map("m", same).With(guard.Policy{Limits: concurrency(16), Law: adaptive.AIMD{Initial: 16}, Retry: &retry.Policy{}})
}
