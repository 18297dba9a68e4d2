package flow_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

// sheet is a state of which each node has a part.
type sheet struct{ facts, tone, plan []string }

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takes is a step that takes d and then leaves a mark in its part of the sheet.
func takes(name string, d time.Duration, part func(*sheet) *[]string) *node.Step[*sheet] {
	return node.Do(name, func(ctx context.Context, p *sheet) error {
		if err := pause(ctx, d); err != nil {
			return err
		}
		*part(p) = append(*part(p), name)
		return nil
	})
}

func facts(p *sheet) *[]string { return &p.facts }
func tone(p *sheet) *[]string  { return &p.tone }
func plans(p *sheet) *[]string { return &p.plan }

func fails(name string, after time.Duration, err error) *node.Step[*sheet] {
	return node.Do(name, func(ctx context.Context, _ *sheet) error {
		if err := pause(ctx, after); err != nil {
			return err
		}
		return err
	})
}

func TestParallelRunsItsNodesAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow.Parallel("checks",
			node.Node[*sheet](takes("facts", time.Second, facts)),
			flow.New[*sheet]("tones", takes("tone", 2*time.Second, tone)).Then(takes("again", 2*time.Second, tone)),
			node.Each("plans", func(*sheet) []int { return []int{1, 2, 3} },
				func(ctx context.Context, i int) (string, error) { return "plan", pause(ctx, time.Second) },
				func(p *sheet, plans []string) { p.plan = plans }))
		began, p := time.Now(), &sheet{}
		report, err := flow.Run(t.Context(), flow.New[*sheet]("f", f).Then(takes("after", time.Second, plans)), p)
		require.NoError(t, err)
		assert.Equal(t, 5*time.Second, time.Since(began))
		assert.Equal(t, &sheet{[]string{"facts"}, []string{"tone", "again"}, []string{"plan", "plan", "plan", "after"}}, p)
		assert.Equal(t, int64(7), report.Steps, "the fork, its three nodes, two of a flow inside, and the one after it")
		assert.Equal(t, "after", report.Last)
		assert.Equal(t, flow.NodeReport{Runs: 1, Done: 3}, report.Nodes["plans"])
		assert.Equal(t, flow.NodeReport{Runs: 1}, report.Nodes["again"])
	})
}

func TestParallelNamesWhatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		f    node.Node[*sheet]
		want []string
	}{
		"no name, no nodes": {flow.Parallel[*sheet](""), []string{"name", "nodes"}},
		"nil":               {flow.Parallel[*sheet]("p", nil, (*node.Step[*sheet])(nil)), []string{"nodes[0]", "nodes[1]"}},
		"twice":             {flow.Parallel[*sheet]("p", takes("a", 0, facts), takes("b", 0, facts), takes("a", 0, tone)), []string{"nodes[2]"}},
		"inside":            {flow.Parallel[*sheet]("p", takes("a", -1, facts).With(guard.Policy{Timeout: -1}), flow.New[*sheet]("f", nil)), []string{"Timeout", "first"}},
	} {
		assert.Equal(t, tc.want, fields(tc.f.(interface{ Validate() error }).Validate()), name)
		_, err := tc.f.Run(t.Context(), &sheet{})
		assert.Equal(t, tc.want, fields(err), name)
		assert.Equal(t, tc.want, fields(flow.New[*sheet]("outer", tc.f).Validate()), name)
	}
}

func TestAnActionInParallelIsAnError(t *testing.T) {
	again := node.Decide("again", func(context.Context, *sheet) (node.Action, error) { return "again", nil })
	_, err := flow.Parallel[*sheet]("checks", again, takes("facts", 0, facts)).Run(t.Context(), &sheet{})
	var unknown *flow.ActionError
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, []any{"checks", "again", node.Action("again")}, []any{unknown.Flow, unknown.Node, unknown.Action})
	assert.EqualError(t, err, `flow "checks": node "again" returned the action "again", and in Parallel only Next goes on: `+
		`branch after "checks", with node.Decide`)
}

func TestAPanicInParallelIsTheErrorOfItsNode(t *testing.T) {
	for want, n := range map[string]node.Node[*int]{
		`flow "checks": node "custom": headrace: panic: custom`:                       &usersOwn{func() error { panic("custom") }},
		`flow "checks": node "exit": flow: a node has called runtime.Goexit`:          node.Do("exit", func(context.Context, *int) error { runtime.Goexit(); return nil }),
		`flow "checks": node "f": flow "f": node "step": headrace: panic: not a Node`: flow.New[*int]("f", node.Do("step", func(context.Context, *int) error { panic("not a Node") })),
	} {
		_, err := flow.Parallel("checks", node.Do("fine", func(context.Context, *int) error { return nil }), n).Run(t.Context(), new(int))
		assert.EqualError(t, err, want)
	}
}

func TestTraceOfParallel(t *testing.T) {
	p := &path{}
	f := flow.Parallel[*int]("checks", &usersOwn{func() error { return nil }}, node.Do("step", func(context.Context, *int) error { return nil }))
	_, err := flow.Run(t.Context(), flow.New[*int]("f", f), new(int), flow.WithObserver(p))
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{
		"/f/checks/custom: end node.finished", "/f/checks: note flow.step",
		"/f/checks/step: end node.finished", "/f/checks: note flow.step",
		"/f/checks: end flow.finished", "/f: note flow.step", "/f: end flow.finished",
	}, p.lines)
}

func TestProgressOfParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		batch := func(name string, n int) node.Node[*sheet] {
			return node.Each(name, func(*sheet) []int { return make([]int, n) },
				func(ctx context.Context, i int) (int, error) { return i, pause(ctx, time.Second) }, func(*sheet, []int) {})
		}
		var last event.Progress
		_, err := flow.Run(t.Context(), flow.Parallel("checks", batch("b", 2), batch("a", 4)), &sheet{},
			flow.WithProgress(func(p event.Progress) { last = p }, 0))
		require.NoError(t, err)
		assert.Equal(t, int64(6), last.Items.Total)
		require.Len(t, last.Nodes, 2)
		assert.Equal(t, []string{"b", "a"}, []string{last.Nodes[0].Name, last.Nodes[1].Name}, "in the order of the graph")
	})
}

func TestMermaidDrawsAForkAndAJoin(t *testing.T) {
	f := flow.New("f", flow.Parallel[*sheet]("checks", takes("facts", 0, facts), node.One("plan",
		func(context.Context, *sheet) (int, error) { return 0, nil }, func(*sheet, int) {}))).Then(takes("tone", 0, tone))
	assert.Equal(t, `flowchart TD
    subgraph n1["f"]
        subgraph n2["checks"]
            n3(("fork"))
            n4["facts"]
            n5["plan"]
            n6(("join"))
            n3 --> n4 --> n6
            n3 --> n5 --> n6
        end
        n7["tone"]
        n2 --> n7
    end
`, flow.Mermaid(f))
}

// What is recorded inside of a branch is found there again, whichever branch was faster.
func TestParallelIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := journal.NewMemory()
		calls := 0
		run := func(slow string) *sheet {
			topic := func(name string, part func(*sheet) *[]string) node.Node[*sheet] {
				notes := node.Each("notes", func(*sheet) []string { return []string{"same"} },
					func(ctx context.Context, _ string) (string, error) {
						if name == slow {
							return name, pause(ctx, time.Second)
						}
						return name, nil
					},
					func(p *sheet, notes []string) { *part(p) = append(*part(p), notes...) }).WithJournal(j)
				return flow.New[*sheet](name, notes)
			}
			one := node.One("plan", func(context.Context, *sheet) (string, error) { calls++; return "plan", nil },
				func(p *sheet, text string) { p.plan = append(p.plan, text) }).WithJournal(j)
			again := node.Decide("again", func(_ context.Context, p *sheet) (node.Action, error) {
				if len(p.plan) < 2 {
					return "again", nil
				}
				return node.Next, nil
			})
			f := flow.Parallel("topics", topic("a", facts), topic("b", tone), one)
			p := &sheet{}
			report, err := flow.Run(t.Context(), flow.New[*sheet]("f", f).Then(again).On(again, "again", f).End(again, node.Next), p)
			require.NoError(t, err)
			if slow == "b" {
				assert.Equal(t, flow.NodeReport{Runs: 4, Resumed: 4}, report.Nodes["notes"])
			}
			return p
		}
		want := &sheet{[]string{"a", "a"}, []string{"b", "b"}, []string{"plan", "plan"}}
		assert.Equal(t, want, run("a"))
		assert.Equal(t, want, run("b"))
		assert.Equal(t, 2, calls, "once in each round")
		nodes := map[string]int{}
		for r, err := range j.All(t.Context(), journal.Part{Run: journal.DefaultRun}) {
			require.NoError(t, err)
			nodes[r.Key.Node]++
		}
		assert.Equal(t, map[string]int{"a/notes": 2, "b/notes": 2, "plan": 2}, nodes)
	})
}

// A hit inside of a fork reaches the batch around it.
func TestParallelPropagates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{refuse: 4, refused: map[int]bool{}}
		call := node.Do("call", a.call).With(guard.Policy{Law: wide(8), Propagate: true})
		idle := node.Do("idle", func(context.Context, *user) error { return nil }) // the call writes to the user
		b := flow.Batch("users", of[*trail](users(4)...), flow.Parallel("both", node.Node[*user](idle), node.Node[*user](call)), nil).
			WithParallel(4).With(guard.Policy{Law: wide(8)})
		var cuts int
		_, err := flow.Run(t.Context(), b, nil, flow.WithObserver(event.Func(func(e event.Event) {
			if e.Kind == event.LimiterCut && e.Source == "users" {
				cuts++
			}
		})))
		require.NoError(t, err)
		assert.Equal(t, 1, cuts)
	})
}

// A node of a fork within the batch's own guard uses the slot of the instance.
func TestABatchAndANodeInAForkShareAGuard(t *testing.T) {
	l, err := guard.New(guard.Policy{Name: "l", Limits: throttle.Limits{Concurrency: 1}})
	require.NoError(t, err)
	inside := node.Do("inside", func(context.Context, *user) error { return nil }).Within(l)
	b := flow.Batch("users", of[*trail](users(3)...), flow.Parallel("both", note("x"), node.Node[*user](inside)), nil).Within(l)
	require.NoError(t, b.Validate())
	_, err = flow.Run(t.Context(), flow.New[*trail]("f", b), &trail{})
	require.NoError(t, err)
}
