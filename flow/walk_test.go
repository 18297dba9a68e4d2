package flow_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

func TestARunIsNoLongerThanItsBound(t *testing.T) {
	for _, most := range []int{0, 1, 7} { // 0: the default
		a, runs := step("a", "again"), 10_000
		f := flow.New("f", a).On(a, "again", a).End(a, "enough")
		if most > 0 {
			f.WithMaxSteps(most)
			runs = most
		}
		names, _, err := follow(t, f)
		var long *flow.StepsError
		require.ErrorAs(t, err, &long)
		require.Equal(t, &flow.StepsError{Flow: "f", Max: runs, Node: "a"}, long)
		require.Len(t, names, runs)
	}
}

func TestTheBoundItselfMayBeReached(t *testing.T) {
	f := flow.New("f", step("a")).Then(step("b")).Then(step("c"))
	requireTrail(t, f.WithMaxSteps(3), node.Next, "a", "b", "c")

	f = flow.New("f", step("a")).Then(step("b")).Then(step("c")).WithMaxSteps(2)
	names, _, err := follow(t, f)
	require.EqualError(t, err, `flow "f": more than 2 steps, next would be node "c": `+
		`is a loop without an end? raise WithMaxSteps if not`)
	require.Equal(t, []string{"a", "b"}, names)
}

func TestEveryRunAndEveryFlowCountsItsOwnSteps(t *testing.T) {
	inner := flow.New("inner", step("a")).Then(step("b")).WithMaxSteps(2)
	f := flow.New("f", inner).Then(step("c")).WithMaxSteps(2)
	for range 3 {
		requireTrail(t, f, node.Next, "a", "b", "c")
	}
}

func TestAnErrorTellsItsPath(t *testing.T) {
	inner := flow.New("inner", step("a")).Then(failing("b", errBoom))
	f := flow.New("outer", step("begin")).Then(step("go")).Then(inner).Then(step("never"))
	names, _, err := follow(t, f)
	require.Equal(t, []string{"begin", "go", "a"}, names)
	require.EqualError(t, err, `flow "outer": node "inner": flow "inner": node "b": boom`)
	require.ErrorIs(t, err, errBoom)

	var at *flow.StepError
	require.ErrorAs(t, err, &at)
	require.Equal(t, []any{"outer", "inner", 3}, []any{at.Flow, at.Node, at.Step})
	require.ErrorAs(t, at.Err, &at)
	require.Equal(t, []any{"inner", "b", 2, errBoom}, []any{at.Flow, at.Node, at.Step, at.Err})
}

func TestAnErrorNamesItsNodeOnce(t *testing.T) {
	list := node.Each("list", func(*trail) []int { return []int{1} },
		func(context.Context, int) (int, error) { return 0, errBoom }, func(*trail, []int) {})
	_, _, err := follow(t, flow.New("f", step("a")).Then(list))
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, 1, strings.Count(err.Error(), `node "list": `), err.Error())
}

// custom is a node type of the user's own.
type custom struct {
	name string
	run  func(ctx context.Context) (node.Action, error)
}

func (c *custom) Name() string { return c.name }

func (c *custom) Run(ctx context.Context, _ *trail) (node.Action, error) { return c.run(ctx) }

func TestAPanicOfANodeIsItsError(t *testing.T) {
	for name, n := range map[string]node.Node[*trail]{
		"step":   node.Do("p", func(context.Context, *trail) error { panic(errBoom) }),
		"custom": &custom{"p", func(context.Context) (node.Action, error) { panic(errBoom) }},
	} {
		_, _, err := follow(t, flow.New("f", step("a")).Then(n))
		var panicked *fault.PanicError
		require.ErrorAs(t, err, &panicked, name)
		require.Equal(t, errBoom, panicked.Value)
		require.Contains(t, string(panicked.Stack), "walk_test.go", name)
		require.ErrorIs(t, err, errBoom, name)
		var at *flow.StepError
		require.ErrorAs(t, err, &at, name)
		require.Equal(t, "p", at.Node)
	}
}

func TestNoNodeBeginsAfterTheEndOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	f := flow.New("f", step("a")).
		Then(&custom{"b", func(context.Context) (node.Action, error) { cancel(errBoom); return node.Next, nil }}).
		Then(step("c"))
	s, steps := &trail{}, 0
	o := event.Func(func(e event.Event) {
		if e.Kind == event.FlowStep {
			steps++
		}
	})
	_, err := f.Run(event.With(ctx, o), s)
	require.Equal(t, []string{"a"}, s.names)
	require.EqualError(t, err, `flow "f": node "c": boom`)
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, 2, steps, "c was not a step")

	_, err = f.Run(ctx, s)
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, []string{"a"}, s.names)
}

func TestWhatTheFlowTells(t *testing.T) {
	type told struct {
		kind          event.Kind
		source, key   string
		step          int
		action, error string
	}
	var all []told
	o := event.Func(func(e event.Event) {
		if e.Kind == event.NodeStarted || e.Kind == event.NodeFinished {
			return
		}
		x := told{kind: e.Kind, source: e.Source, key: e.Key, step: e.Attempt, action: e.Reason}
		if e.Err != nil {
			x.error = e.Err.Error()
		}
		all = append(all, x)
	})
	b := failing("b", errBoom)
	inner := flow.New("inner", step("a", "x"))
	f := flow.New("outer", inner).On(inner, "x", b)
	_, err := f.Run(event.With(t.Context(), o), &trail{})
	require.Error(t, err)
	require.Equal(t, []told{
		{kind: event.FlowStarted, source: "outer"},
		{kind: event.FlowStarted, source: "inner"},
		{kind: event.FlowStep, source: "inner", key: "a", step: 1, action: "x"},
		{kind: event.FlowFinished, source: "inner", action: "x"},
		{kind: event.FlowStep, source: "outer", key: "inner", step: 1, action: "x"},
		{kind: event.FlowStep, source: "outer", key: "b", step: 2, error: "boom"},
		{kind: event.FlowFinished, source: "outer", error: `flow "outer": node "b": boom`},
	}, all)
}

// What flows tell has the index of the innermost instance that they are, or are inside of.
func TestFlowsTellWhichInstanceTheyAre(t *testing.T) {
	var mu sync.Mutex
	told := map[string][]int64{}
	o := event.Func(func(e event.Event) {
		if strings.HasPrefix(string(e.Kind), "flow.") {
			mu.Lock()
			defer mu.Unlock()
			told[e.Source+" "+string(e.Kind)] = append(told[e.Source+" "+string(e.Kind)], e.Index)
		}
	})
	word := flow.Batch("words", of[*user](users(2)...), flow.New("word", note("c")), nil)
	part := flow.New("part", word)
	f := flow.New("all", flow.Batch("users", of[*trail](users(3)...), flow.New("user", note("a")).Then(part), nil).WithParallel(3))
	_, err := f.Run(event.With(t.Context(), o), &trail{})
	require.NoError(t, err)
	for source, want := range map[string][]int64{
		"all": {event.NoIndex}, "user": {0, 1, 2}, "part": {0, 1, 2}, "word": {0, 0, 0, 1, 1, 1},
	} {
		for _, kind := range []event.Kind{event.FlowStarted, event.FlowStep, event.FlowFinished} {
			got := told[source+" "+string(kind)]
			if source == "user" && kind == event.FlowStep {
				got = slices.Compact(slices.Sorted(slices.Values(got))) // of two nodes
			}
			require.ElementsMatch(t, want, got, "%s %s", source, kind)
		}
	}
}

func TestAnErrorBesideAnActionWins(t *testing.T) {
	a := &custom{"a", func(context.Context) (node.Action, error) { return "x", errors.New("no") }}
	names, action, err := follow(t, flow.New("f", a).On(a, "x", step("b")))
	require.Error(t, err)
	require.Equal(t, node.Next, action)
	require.Empty(t, names)
}
