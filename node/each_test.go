package node_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/fault"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// list is a state with a slice, and with what Each has put.
type list struct {
	in   []int
	puts [][]int
}

func each(exec func(context.Context, int) (int, error)) *node.Batch[*list, int, int] {
	return node.Each("each",
		func(l *list) []int { return l.in },
		exec,
		func(l *list, outs []int) { l.puts = append(l.puts, outs) })
}

func TestEachPutsTheResultsInTheOrderOfTheItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &list{in: []int{3, 1, 2}}
		action, err := each(func(_ context.Context, i int) (int, error) {
			time.Sleep(time.Duration(i) * time.Second)
			return 10 * i, nil
		}).WithParallel(3).Run(t.Context(), l)
		require.NoError(t, err)
		assert.Equal(t, node.Next, action)
		assert.Equal(t, [][]int{{30, 10, 20}}, l.puts)
	})
	l := &list{}
	_, err := each(same).Run(t.Context(), l)
	require.NoError(t, err)
	assert.Equal(t, [][]int{{}}, l.puts, "no items are all done")
}

func TestEachPutsNothingUnlessEveryItemIsDone(t *testing.T) {
	l := &list{in: []int{1, 2, 3}}
	b := each(func(_ context.Context, i int) (int, error) {
		if i == 2 {
			return 0, errBoom
		}
		return i, nil
	})
	_, err := b.Run(t.Context(), l)
	var failed *node.BatchError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, node.Counts{Total: 3, Done: 2, Failed: 1}, failed.Counts)
	require.ErrorIs(t, err, errBoom)

	_, err = b.Run(canceled(t), l)
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, l.puts)
}

func canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestEachTakesWhatIsResumedForDone(t *testing.T) {
	j, l, calls := journal.NewMemory(), &list{in: []int{1, 2}}, 0
	exec := func(_ context.Context, i int) (int, error) {
		if calls++; calls == 2 {
			return 0, errBoom
		}
		return 10 * i, nil
	}
	_, err := each(exec).WithJournal(j).Run(t.Context(), l)
	require.ErrorIs(t, err, errBoom)
	_, err = each(exec).WithJournal(j).RetryFailed().Run(t.Context(), l)
	require.NoError(t, err)
	assert.Equal(t, [][]int{{10, 20}}, l.puts)
	assert.Equal(t, 3, calls)
}

// A slice has no end to be looked for, so that a stop after the last item leaves nothing out.
func TestEachIsCompleteIfItIsStoppedDuringTheLastItem(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := &list{in: []int{7}}
	_, err := each(func(_ context.Context, i int) (int, error) { cancel(); return i, nil }).Run(ctx, l)
	require.NoError(t, err)
	assert.Equal(t, [][]int{{7}}, l.puts)
}

func TestEachReportsHowManyItemsThereAre(t *testing.T) {
	var inputs []float64
	ctx := event.With(t.Context(), event.Func(func(e event.Event) {
		if e.Kind == event.NodeInput {
			inputs = append(inputs, e.To)
		}
	}))
	_, err := each(same).Run(ctx, &list{in: numbers(3)})
	require.NoError(t, err)
	assert.Equal(t, []float64{3}, inputs)
}

func TestEachAndOneNameWhatIsNil(t *testing.T) {
	assertProblems(t, node.Each[*list, int, int]("each", nil, nil, nil).Validate(), "items", "exec", "put")
	assertProblems(t, node.One[*list, int]("one", nil, nil).Validate(), "exec", "put")
	assertProblems(t, node.Each[*list, int, int]("", nil, same, nil).Validate(), "name", "items", "put")
}

func TestEachRefusesASink(t *testing.T) {
	sink := node.SinkFunc(func(context.Context, node.Result[int, int]) error { return nil })
	assertProblems(t, each(same).WithSink(sink).Validate(), "WithSink")
	whole := node.SinkFunc(func(context.Context, node.Result[*opaque, int]) error { return nil })
	assertProblems(t, one(new(int)).WithSink(whole).Validate(), "WithSink")
}

func TestPanicsOfListAndPutAreErrors(t *testing.T) {
	var panicked *fault.PanicError
	_, err := node.Each("each", func(*list) []int { panic("items") }, same, func(*list, []int) {}).Run(t.Context(), &list{})
	require.ErrorAs(t, err, &panicked)
	assert.Equal(t, "items", panicked.Value)
	_, err = node.Each("each", func(*list) []int { return nil }, same, func(*list, []int) { panic("put") }).Run(t.Context(), &list{})
	require.ErrorAs(t, err, &panicked)
	assert.Equal(t, "put", panicked.Value)
}
