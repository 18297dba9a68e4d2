package flow_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// rounds is a loop whose batch gets the same item in each round.
type rounds struct {
	wanted, got int
	outs        []int
}

func looping(j journal.Journal, exec func() int) *flow.Flow[*rounds] {
	b := node.BatchFunc("b",
		func(context.Context, *rounds) (iter.Seq2[int, error], error) { return node.Slice([]int{7}), nil },
		func(context.Context, int) (int, error) { return exec(), nil },
		func(_ context.Context, s *rounds, r *node.Report[int, int]) (node.Action, error) {
			s.outs = append(s.outs, r.Values()...)
			if s.got++; s.got < s.wanted {
				return "again", r.Err()
			}
			return node.Next, r.Err()
		}).WithJournal(j)
	return flow.New[*rounds]("loop", b).On(b, "again", b).End(b, node.Next)
}

// A loop counts on from round to round, and the next process with it.
func TestALoopIsResumed(t *testing.T) {
	j, calls := journal.NewMemory(), 0
	exec := func() int { calls++; return calls }
	var told []string
	o := event.Func(func(e event.Event) {
		if e.Kind == event.JournalLeftover {
			told = append(told, e.Reason)
		}
	})
	run := func(name string, wanted int) []int {
		s := &rounds{wanted: wanted}
		_, err := flow.Run(t.Context(), looping(j, exec), s, flow.WithRun(name), flow.WithObserver(o))
		require.NoError(t, err)
		return s.outs
	}
	assert.Equal(t, []int{1, 2}, run("a", 2))
	assert.Equal(t, []int{1, 2, 3}, run("a", 3))
	assert.Equal(t, []int{4}, run("b", 1))
	assert.Empty(t, told, "rounds to come are no change of the input")
	assert.Equal(t, []int{1}, run("a", 1))
	require.Len(t, told, 1)
	assert.Contains(t, told[0], `2 records of run "a"`)
}

func ExampleWithRun() {
	j := journal.NewMemory() // store/sqlitestore keeps one in a file
	calls := 0
	f := looping(j, func() int { calls++; return 10 * calls })
	for _, run := range []string{"november", "november", "december"} {
		s := &rounds{wanted: 2}
		_, err := flow.Run(context.Background(), f, s, flow.WithRun(run))
		fmt.Println(s.outs, calls, err)
	}
	// Output:
	// [10 20] 2 <nil>
	// [10 20] 2 <nil>
	// [30 40] 4 <nil>
}
