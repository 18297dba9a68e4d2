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

// Validate looks at everything inside again, also after a run that did not reach it.
func TestValidateSeesAChangeAfterARun(t *testing.T) {
	for name, nest := range map[string]func(inner *flow.Flow[*job]) *flow.Flow[*job]{
		"flow":     func(inner *flow.Flow[*job]) *flow.Flow[*job] { return flow.New("f", inner) },
		"parallel": func(inner *flow.Flow[*job]) *flow.Flow[*job] { return flow.New("f", flow.Parallel("p", inner)) },
		"batch": func(inner *flow.Flow[*job]) *flow.Flow[*job] {
			return flow.New[*job]("f", flow.Batch("b", of[*job, job](), inner, nil))
		},
		"each": func(inner *flow.Flow[*job]) *flow.Flow[*job] {
			return flow.New[*job]("f", flow.Each("b", func(*job) []job { return nil }, inner, func(*job, []job) {}))
		},
	} {
		begin := node.Decide("begin", func(context.Context, *job) (node.Action, error) { return "leave", nil })
		inner := flow.New("inner", node.Do("a", func(context.Context, *job) error { return nil }))
		f := flow.New("outer", begin).Then(nest(inner)).End(begin, "leave")
		_, err := f.Run(t.Context(), &job{})
		require.NoError(t, err, name)
		require.NoError(t, f.Validate(), name)

		inner.WithMaxSteps(0)
		require.Equal(t, []string{"WithMaxSteps"}, fields(f.Validate()), name)
	}
}
