package flow_test

import (
	"context"
	"iter"
	"testing"

	"github.com/headrace/headrace/fault"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// texts is a state with an input for each of two batches.
type texts struct {
	Titles, Bodies []string
	Out            []string
}

func over(name string, j journal.Journal, of func(*texts) []string) *node.Batch[*texts, string, string] {
	b := node.BatchFunc(name,
		func(_ context.Context, s *texts) (iter.Seq2[string, error], error) { return node.Slice(of(s)), nil },
		func(_ context.Context, text string) (string, error) { return text, nil },
		func(_ context.Context, s *texts, r *node.Report[string, string]) (node.Action, error) {
			s.Out = append(s.Out, r.Values()...)
			return node.Next, r.Err()
		})
	if j != nil {
		b.WithJournal(j)
	}
	return b
}

func titles(s *texts) []string { return s.Titles }
func bodies(s *texts) []string { return s.Bodies }

func TestTwoJournaledBatchesOfOneNameAreRefused(t *testing.T) {
	j := journal.NewMemory()
	list := func(context.Context, *texts) (iter.Seq2[texts, error], error) { return node.Slice([]texts{{}}), nil }
	each := func(name string, j journal.Journal, n node.Node[*texts]) *node.Batch[*texts, texts, texts] {
		b := flow.Batch(name, list, n, nil)
		if j != nil {
			b.WithJournal(j)
		}
		return b
	}
	one := over("one", j, titles)
	for name, tc := range map[string]struct {
		first, second node.Node[*texts]
		refused       bool
	}{
		"one name":                     {one, over("one", j, bodies), true},
		"two names":                    {one, over("two", j, bodies), false},
		"two journals":                 {one, over("one", journal.NewMemory(), bodies), false},
		"one without a journal":        {one, over("one", nil, bodies), false},
		"in flows":                     {flow.New("a", one).Then(node.Do("x", nothing)), flow.New[*texts]("b", over("one", j, bodies)), true},
		"in a batch of flows":          {one, each("each", nil, over("one", j, bodies)), true},
		"under items":                  {one, each("each", j, over("one", j, bodies)), false},
		"two batches of flows":         {each("each", j, one), each("each", j, over("two", j, bodies)), true},
		"the same batch in two places": {one, flow.New[*texts]("again", one), false},
	} {
		t.Run(name, func(t *testing.T) {
			f := flow.New("f", tc.first).Then(tc.second)
			for i, x := range []interface{ Validate() error }{f, flow.New("outer", node.Node[*texts](f)), each("outer", nil, f)} {
				err := x.Validate()
				if !tc.refused {
					require.NoError(t, err)
					continue
				}
				var field *fault.FieldError
				require.ErrorAs(t, err, &field)
				assert.Contains(t, field.Problem, "two batches of this name have the same journal")
				assert.NotContains(t, err.Error(), "\n", "%d: once", i)
			}
		})
	}
}

func nothing(context.Context, *texts) error { return nil }

// What no graph shows is seen when it runs.
func TestTwoBatchesOfOneNameInOneRun(t *testing.T) {
	j := journal.NewMemory()
	step := node.Do("step", func(ctx context.Context, s *texts) error {
		first := node.Map("one", func(_ context.Context, text string) (string, error) { return "title " + text, nil }).WithJournal(j)
		if _, err := first.All(ctx, s.Titles); err != nil {
			return err
		}
		second := node.Map("one", func(_ context.Context, text string) (string, error) { return "body " + text, nil }).WithJournal(j)
		_, err := second.All(ctx, s.Bodies)
		return err
	})
	_, err := flow.Run(t.Context(), step, &texts{Titles: []string{"a"}, Bodies: []string{"a", "b"}})
	require.ErrorContains(t, err, `node "one" of run "default" is two batches of one name`)
	assert.ErrorContains(t, err, "TestTwoBatchesOfOneNameInOneRun")
	require.ErrorAs(t, err, new(*node.JournalError))
}
