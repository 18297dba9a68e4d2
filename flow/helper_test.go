package flow_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
)

var errBoom = errors.New("boom")

// trail is the shared state of most tests: the names of the nodes that were run.
type trail struct{ names []string }

// step is a node that leaves its name and returns the actions given, one run
// after the other and the last of them again and again.
func step(name string, actions ...node.Action) node.Node[*trail] {
	runs := 0
	return node.Decide(name, func(_ context.Context, s *trail) (node.Action, error) {
		s.names = append(s.names, name)
		if len(actions) == 0 {
			return node.Next, nil
		}
		a := actions[min(runs, len(actions)-1)]
		runs++
		return a, nil
	})
}

// failing is a node that always fails with err.
func failing(name string, err error) node.Node[*trail] {
	return node.Do(name, func(context.Context, *trail) error { return err })
}

// follow runs n and returns the names of the nodes that it went through.
func follow(t *testing.T, n node.Node[*trail]) ([]string, node.Action, error) {
	t.Helper()
	s := &trail{}
	a, err := n.Run(t.Context(), s)
	return s.names, a, err
}

// requireTrail runs n, which has to succeed, and compares names and action.
func requireTrail(t *testing.T, n node.Node[*trail], want node.Action, names ...string) {
	t.Helper()
	got, a, err := follow(t, n)
	require.NoError(t, err)
	require.Equal(t, want, a)
	require.Equal(t, names, got)
}

// of is a Prep that gives the same items whatever the state.
func of[S, T any](items ...T) func(context.Context, S) (iter.Seq2[T, error], error) {
	return func(context.Context, S) (iter.Seq2[T, error], error) { return node.Slice(items), nil }
}

// count gives the numbers from 0 to n-1.
func count[S any](n int) func(context.Context, S) (iter.Seq2[int, error], error) {
	items := make([]int, n)
	for i := range items {
		items[i] = i
	}
	return of[S](items...)
}

// keep is a Post that hands on the report.
func keep[S, T any](to **node.Report[T, T]) func(context.Context, S, *node.Report[T, T]) (node.Action, error) {
	return func(_ context.Context, _ S, r *node.Report[T, T]) (node.Action, error) {
		*to = r
		return node.Next, nil
	}
}

// fields lists the setting of every *fault.FieldError in err.
func fields(err error) []string {
	var all []string
	var walk func(error)
	walk = func(err error) {
		switch e := err.(type) { //nolint:errorlint // this is the walk
		case *fault.FieldError:
			all = append(all, e.Field)
		case interface{ Unwrap() []error }:
			for _, e := range e.Unwrap() {
				walk(e)
			}
		case interface{ Unwrap() error }:
			walk(e.Unwrap())
		}
	}
	walk(err)
	return all
}

// limiting is a node with a guard.
type limiting interface{ Guard() *guard.Guard }

// view returns what the controller of a node's guard holds.
func view(t *testing.T, n limiting) adaptive.View {
	t.Helper()
	return n.Guard().Learner().Stats().View
}
