package flow_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// uncomparable is a node type that cannot be compared.
type uncomparable struct{ tags []string }

func (uncomparable) Name() string { return "tagged" }

func (uncomparable) Run(context.Context, *trail) (node.Action, error) { return node.Next, nil }

func TestAProblemIsNamed(t *testing.T) {
	type build = func() *flow.Flow[*trail]
	for name, tc := range map[string]struct {
		build build
		want  string
	}{
		"empty name": {
			func() *flow.Flow[*trail] { return flow.New("", step("a")) },
			`flow "": name: it is empty: errors, events and drawings need one`,
		},
		"nil first": {
			func() *flow.Flow[*trail] { return flow.New[*trail]("f", nil) },
			`flow "f": first: the node is nil`,
		},
		"nil first, edges all the same": {
			func() *flow.Flow[*trail] {
				a := step("a")
				return flow.New[*trail]("f", nil).Then(a).On(a, "x", step("b")).End(a, "y")
			},
			`flow "f": first: the node is nil`,
		},
		"typed nil": {
			func() *flow.Flow[*trail] { return flow.New("f", node.Node[*trail]((*custom)(nil))) },
			`flow "f": first: the node is nil`,
		},
		"nil then": {
			func() *flow.Flow[*trail] { return flow.New("f", step("a")).Then((*flow.Flow[*trail])(nil)) },
			`flow "f": Then: the node is nil`,
		},
		"nil on": {
			func() *flow.Flow[*trail] { return flow.New("f", step("a")).On(nil, "x", nil) },
			`flow "f": On: from: the node is nil`,
		},
		"nil to": {
			func() *flow.Flow[*trail] { a := step("a"); return flow.New("f", a).On(a, "x", nil) },
			`flow "f": On: to: the node is nil`,
		},
		"nil end": {
			func() *flow.Flow[*trail] { return flow.New("f", step("a")).End(nil, "x") },
			`flow "f": End: the node is nil`,
		},
		"uncomparable": {
			func() *flow.Flow[*trail] { return flow.New("f", step("a")).Then(uncomparable{[]string{"x"}}) },
			`flow "f": Then: node "tagged" cannot be compared, being a flow_test.uncomparable: use a pointer to it`,
		},
		"two edges": {
			func() *flow.Flow[*trail] {
				a := step("a")
				return flow.New("f", a).On(a, "x", step("b")).On(a, "x", step("c"))
			},
			`flow "f": On: node "a" already has an edge for the action "x"`,
		},
		"two edges by Then": {
			func() *flow.Flow[*trail] {
				a := step("a")
				return flow.New("f", a).On(a, node.Next, step("b")).Then(step("c"))
			},
			`flow "f": Then: node "a" already has an edge for the action Next`,
		},
		"edge and end": {
			func() *flow.Flow[*trail] { a := step("a"); return flow.New("f", a).End(a, "x").On(a, "x", a) },
			`flow "f": On: node "a" already has an edge for the action "x"`,
		},
		"unreachable": {
			func() *flow.Flow[*trail] {
				lone := step("lone")
				return flow.New("f", step("a")).On(lone, "x", step("b")).On(lone, "y", lone).End(lone, "z")
			},
			`flow "f": node "lone": no edge leads to it from "a", where the flow begins`,
		},
		"endless": {
			func() *flow.Flow[*trail] {
				a, b, c := step("a"), step("b"), step("c")
				return flow.New("f", step("begin")).Then(a).Then(b).Then(c).Then(a).On(b, "x", c)
			},
			`flow "f": loop: no action leads out of "begin", "a", "b", "c": add an edge with On, or End`,
		},
		"endless in one branch": {
			func() *flow.Flow[*trail] {
				a, b := step("a"), step("b")
				return flow.New("f", a).On(a, "x", b).On(b, "y", b).End(a, "z")
			},
			`flow "f": loop: no action leads out of "b": add an edge with On, or End`,
		},
		"bound": {
			func() *flow.Flow[*trail] { return flow.New("f", step("a")).WithMaxSteps(0) },
			`flow "f": WithMaxSteps: 0 is below 1`,
		},
		"a node's settings": {
			func() *flow.Flow[*trail] {
				inner := flow.New("inner", step("a")).Then(node.BatchFunc("many", count[*trail](1),
					func(context.Context, int) (int, error) { return 0, nil }, nil).WithParallel(0))
				return flow.New("f", inner)
			},
			`node "many": WithParallel: 0 is below 1`,
		},
		"an inner flow's graph": {
			func() *flow.Flow[*trail] {
				inner := flow.New("inner", step("a")).WithMaxSteps(-1)
				return flow.New("f", step("a")).Then(inner)
			},
			`flow "inner": WithMaxSteps: -1 is below 1`,
		},
		"inside a batch": {
			func() *flow.Flow[*trail] {
				inner := flow.New("inner", node.Do("", func(context.Context, **trail) error { return nil }))
				return flow.New[*trail]("f", flow.Batch("many", of[*trail, *trail](), inner, nil))
			},
			`node "": name: it is empty: errors, events and drawings need one`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := tc.build()
			require.EqualError(t, f.Validate(), tc.want)
			s := &trail{}
			_, err := f.Run(t.Context(), s)
			require.EqualError(t, err, tc.want)
			require.Empty(t, s.names)
			var field *fault.FieldError
			require.ErrorAs(t, err, &field)
		})
	}
}

func TestAllProblemsAreJoined(t *testing.T) {
	a, lone := step("a"), step("lone")
	inner := flow.New("inner", node.Do[*trail]("nothing", nil)).WithMaxSteps(0)
	f := flow.New("", a).
		Then(nil).
		On(a, "x", a).On(a, "x", a).
		On(a, "in", inner).
		End(lone, "y").
		WithMaxSteps(-3)
	require.Equal(t, []string{
		"name", "Then", "On", "WithMaxSteps", `node "lone"`, // f's own
		"WithMaxSteps", "f", // inner's
	}, fields(f.Validate()))
}

func TestAProblemOfASharedFlowIsToldOnce(t *testing.T) {
	bad := flow.New("bad", step("a")).WithMaxSteps(0)
	one, two := flow.New("one", bad), flow.New("two", bad)
	require.Equal(t, []string{"WithMaxSteps"}, fields(flow.New("f", one).Then(two).Validate()))
}

func TestTheFirstRunFreezesTheFlow(t *testing.T) {
	a := step("a")
	f := flow.New("f", a)
	requireTrail(t, f, node.Next, "a")
	f.Then(step("b")).On(a, "x", step("c")).End(a, "y").WithMaxSteps(3)
	for range 2 {
		names, _, err := follow(t, f)
		require.Equal(t, []string{"Then", "On", "End", "WithMaxSteps"}, fields(err))
		require.ErrorContains(t, err, `flow "f": Then: it was set after the first run`)
		require.Empty(t, names)
	}
}

func TestValidateFreezesNothing(t *testing.T) {
	f := flow.New("f", step("a"))
	require.NoError(t, f.Validate())
	requireTrail(t, f.Then(step("b")), node.Next, "a", "b")
}

// slow validates until it is released, and finds a problem.
type slow struct {
	custom
	asked   atomic.Int64
	release chan struct{}
}

func (s *slow) Validate() error {
	s.asked.Add(1)
	<-s.release
	return errBoom
}

func TestConcurrentFirstRunsShareOneVerdict(t *testing.T) {
	s := &slow{custom: custom{name: "slow"}, release: make(chan struct{})}
	f := flow.New("f", step("a")).Then(s).WithMaxSteps(0)
	var begun, done sync.WaitGroup
	for range 8 {
		begun.Add(1)
		done.Go(func() {
			begun.Done()
			_, err := f.Run(context.Background(), nil)
			if !errors.Is(err, errBoom) || len(fields(err)) != 1 {
				t.Error(err)
			}
		})
	}
	begun.Wait()
	for range 1000 {
		runtime.Gosched() // let them come as far as they do
	}
	close(s.release)
	done.Wait()
	require.Equal(t, int64(1), s.asked.Load())
}

// job is what instances of the flows below work on.
type job struct{ depth int }

// selfContaining is a flow with a batch of itself inside, which it runs while
// a job has depth left; wrap may change the settings of the batch.
func selfContaining(set func(b *node.Batch[*job, job, job])) (*flow.Flow[*job], *node.Batch[*job, job, job]) {
	begin := node.Decide("begin", func(_ context.Context, j *job) (node.Action, error) {
		if j.depth == 0 {
			return "leaf", nil
		}
		return "deeper", nil
	})
	f := flow.New("f", begin).End(begin, "leaf")
	b := flow.Batch("b", func(ctx context.Context, j *job) (iter.Seq2[job, error], error) {
		return of[*job](job{j.depth - 1}, job{j.depth - 1})(ctx, j)
	}, f, nil)
	set(b)
	f.On(begin, "deeper", b)
	return f, b
}

func TestAFlowInsideItselfIsValidated(t *testing.T) {
	f, b := selfContaining(func(b *node.Batch[*job, job, job]) { b.WithParallel(0) })
	require.EqualError(t, f.Validate(), `node "b": WithParallel: 0 is below 1`)
	require.EqualError(t, b.Validate(), `node "b": WithParallel: 0 is below 1`)

	f, b = selfContaining(func(*node.Batch[*job, job, job]) {})
	require.NoError(t, f.Validate())
	require.NoError(t, b.Validate())

	outer := flow.Batch("outer", of[*trail, job](), f, nil) // not inside itself, but what is inside is
	require.NoError(t, outer.Validate())
	f.WithMaxSteps(0)
	require.Equal(t, []string{"WithMaxSteps"}, fields(outer.Validate()))
	require.Equal(t, []string{"WithMaxSteps"}, fields(f.Validate()))
}

func TestADirectlyNestedFlowIsValidated(t *testing.T) {
	a := step("a", "in")
	f := flow.New("f", a).End(a, "out")
	g := flow.New("g", f)
	f.On(a, "in", g) // f in g in f
	require.NoError(t, f.Validate())
	require.NoError(t, g.Validate())
	g.WithMaxSteps(0)
	require.Equal(t, []string{"WithMaxSteps"}, fields(f.Validate()))
}

func TestTwoBatchesInsideEachOther(t *testing.T) {
	begin := node.Decide("begin", func(context.Context, *job) (node.Action, error) { return "end", nil })
	f := flow.New("f", begin).End(begin, "end")
	g := flow.New[*job]("g", flow.Batch("in g", of[*job, job](), f, nil).WithParallel(-1))
	f.On(begin, "g", flow.Batch("in f", of[*job, job](), g, nil).WithParallel(-2))
	for _, n := range []interface{ Validate() error }{f, g} {
		err := n.Validate()
		require.ElementsMatch(t, []string{"WithParallel", "WithParallel"}, fields(err))
		require.ErrorContains(t, err, "-1 is below 1")
		require.ErrorContains(t, err, "-2 is below 1")
	}
}
