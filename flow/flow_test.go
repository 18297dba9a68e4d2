package flow_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

func TestThenGoesFromNodeToNode(t *testing.T) {
	f := flow.New("f", step("a")).Then(step("b")).Then(step("c"))
	require.Equal(t, "f", f.Name())
	requireTrail(t, f, node.Next, "a", "b", "c")
	requireTrail(t, f, node.Next, "a", "b", "c") // again
}

func TestANodeWithoutEdgesEndsTheFlowOnAnyAction(t *testing.T) {
	requireTrail(t, flow.New("f", step("a", "done")), "done", "a")
	requireTrail(t, flow.New("f", step("a")).Then(step("b", "done")), "done", "a", "b")
}

func TestOnBranches(t *testing.T) {
	for action, names := range map[node.Action][]string{
		node.Next: {"a", "plain"},
		"left":    {"a", "l"},
		"right":   {"a", "r", "after"},
	} {
		a, r := step("a", action), step("r")
		f := flow.New("f", a).
			On(a, "left", step("l")).
			On(a, "right", r).
			On(r, node.Next, step("after")).
			Then(step("plain"))
		requireTrail(t, f, node.Next, names...)
	}
}

func TestOnLeavesAloneWhereThenGoesOn(t *testing.T) {
	a, other := step("a"), step("other")
	f := flow.New("f", a).On(a, "x", other).Then(step("b")).On(other, node.Next, step("late")).Then(step("c"))
	requireTrail(t, f, node.Next, "a", "b", "c")
}

func TestALoopRunsUntilAnotherActionLeavesIt(t *testing.T) {
	work := step("work")
	check := step("check", "again", "again", "enough")
	f := flow.New("f", work).Then(check).On(check, "again", work).End(check, "enough").WithMaxSteps(6)
	requireTrail(t, f, "enough", "work", "check", "work", "check", "work", "check")
}

func TestANodeMayFollowItself(t *testing.T) {
	a := step("a", "again", "again", node.Next)
	f := flow.New("f", a).On(a, "again", a).Then(step("b"))
	requireTrail(t, f, node.Next, "a", "a", "a", "b")
}

func TestEndEndsOneBranch(t *testing.T) {
	build := func(a node.Action) *flow.Flow[*trail] {
		first := step("a", a)
		return flow.New("f", first).End(first, "stop").Then(step("b"))
	}
	requireTrail(t, build("stop"), "stop", "a")
	requireTrail(t, build(node.Next), node.Next, "a", "b")

	next := step("a")
	requireTrail(t, flow.New("f", next).On(next, "x", step("b")).End(next, node.Next), node.Next, "a")
}

func TestAnUnknownActionIsAnErrorThatListsTheKnown(t *testing.T) {
	a := step("a", "typo")
	f := flow.New("f", a).On(a, "left", step("l")).Then(step("b")).End(a, "stop")
	names, action, err := follow(t, f)
	require.Equal(t, []string{"a"}, names)
	require.Equal(t, node.Action("typo"), action)
	require.EqualError(t, err, `flow "f": node "a" returned the action "typo", known are "left", Next, "stop": add an edge with On, or End`)
	var unknown *flow.ActionError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, []any{"f", "a", node.Action("typo")}, []any{unknown.Flow, unknown.Node, unknown.Action})
}

func TestNextWithoutAnEdgeIsUnknownWhereOthersAreNamed(t *testing.T) {
	for name, build := range map[string]func(a node.Node[*trail]) *flow.Flow[*trail]{
		"edge": func(a node.Node[*trail]) *flow.Flow[*trail] { return flow.New("f", a).On(a, "x", step("b")) },
		"end":  func(a node.Node[*trail]) *flow.Flow[*trail] { return flow.New("f", a).End(a, "x") },
	} {
		names, _, err := follow(t, build(step("a")))
		require.EqualError(t, err, `flow "f": node "a" returned the action Next, known are "x": add an edge with On, or End`, name)
		require.Equal(t, []string{"a"}, names)
	}
}

func TestTheLastActionOfAnInnerFlowPicksTheOutersEdge(t *testing.T) {
	for action, names := range map[node.Action][]string{
		"good": {"a", "b", "praise"},
		"bad":  {"a", "b", "scold"},
	} {
		b := step("b", action)
		inner := flow.New("inner", step("a")).Then(b).End(b, "good").End(b, "bad")
		f := flow.New("outer", inner).On(inner, "good", step("praise")).On(inner, "bad", step("scold"))
		requireTrail(t, f, node.Next, names...)
	}
}

func TestAFlowIsANodeAtSeveralPlaces(t *testing.T) {
	again := flow.New("again", step("x")).Then(step("y"))
	one, two := flow.New("one", again), flow.New("two", again)
	requireTrail(t, flow.New("f", one).Then(step("between")).Then(two), node.Next, "x", "y", "between", "x", "y")
}

// With a time that grows with the cube of the number of nodes, this takes hours.
func TestAFlowOfManyNodes(t *testing.T) {
	const many = 10_000
	steps := 0
	count := func(i int) node.Node[*trail] {
		return node.Do(strconv.Itoa(i), func(context.Context, *trail) error { steps++; return nil })
	}
	f := flow.New("f", count(1))
	for i := 2; i <= many; i++ {
		f.Then(count(i))
	}
	requireTrail(t, f, node.Next)
	require.Equal(t, many, steps)
}
