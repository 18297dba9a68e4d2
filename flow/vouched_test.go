package flow_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// checked is a node that counts how often it was validated.
type checked[S any] struct{ times atomic.Int64 }

func (*checked[S]) Name() string { return "checked" }

func (*checked[S]) Run(context.Context, S) (node.Action, error) { return node.Next, nil }

func (c *checked[S]) Validate() error {
	c.times.Add(1)
	return nil
}

// The first run of a flow that contains many others, one inside the other, validates each of them once.
func TestNestedFlowsAreValidatedOnce(t *testing.T) {
	const deep = 50
	for name, nest := range map[string]func(name string, n node.Node[*job]) node.Node[*job]{
		"flows": func(name string, n node.Node[*job]) node.Node[*job] { return flow.New(name, n) },
		"forks": func(name string, n node.Node[*job]) node.Node[*job] { return flow.Parallel(name, n) },
		"batches": func(name string, n node.Node[*job]) node.Node[*job] {
			return flow.Batch(name, of[*job](job{}), n, nil)
		},
	} {
		c := &checked[*job]{}
		n := node.Node[*job](c)
		for i := range deep {
			n = nest(name+strconv.Itoa(i), n)
		}
		for range 2 {
			_, err := flow.Run(t.Context(), n, &job{})
			require.NoError(t, err, name)
		}
		require.Equal(t, int64(1), c.times.Load(), name)
	}
}

// A flow that runs as part of another one may be changed until its own first run.
func TestAChangeOfANestedFlowIsChecked(t *testing.T) {
	inner := flow.New("inner", step("a"))
	spoil := node.Do("spoil", func(context.Context, *trail) error {
		inner.WithMaxSteps(0)
		return nil
	})
	names, _, err := follow(t, flow.New("f", spoil).Then(inner))
	require.Equal(t, []string{"WithMaxSteps"}, fields(err))
	require.Empty(t, names)
}
