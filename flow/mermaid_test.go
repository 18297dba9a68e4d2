package flow_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

func TestMermaid(t *testing.T) {
	for name, draw := range map[string]func() string{
		"sequence": func() string {
			return flow.Mermaid(flow.New("f", step("a")).Then(step("b")).Then(step("c")))
		},
		"branch_loop_and_end": func() string {
			draft, review := step("draft"), step("review")
			return flow.Mermaid(flow.New("f", draft).Then(review).
				On(review, "revise", draft).
				On(review, "reject", step("bin")).
				End(review, "approve").
				End(review, "give up"))
		},
		"nested": func() string {
			shared := step("shared")
			inner := flow.New("inner", step("a")).Then(shared)
			return flow.Mermaid(flow.New("outer", inner).On(inner, "x", shared))
		},
		"batch_of_flows": func() string {
			b := flow.Batch("users", of[*trail](users(1)...), flow.New("user", note("a")).Then(note("b")), nil)
			return flow.Mermaid(flow.New("f", b).Then(step("z")))
		},
		"batch_of_nodes": func() string { return flow.Mermaid(flow.Batch("users", of[*trail](users(1)...), note("a"), nil)) },
		"inside_itself":  func() string { return flow.Mermaid(walkTree()) },
		"names": func() string {
			a := step(`say "hi" [now] {x} | #35; <b>&amp;`)
			return flow.Mermaid(flow.New("end", a).On(a, `"|`, step("`code`\r\ntwo\nthree")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile("testdata/" + name + ".mmd")
			require.NoError(t, err)
			require.Equal(t, string(want), draw())
		})
	}
}

func TestMermaidIsDeterministic(t *testing.T) {
	a := step("a")
	f := flow.New("f", a).End(a, "stop")
	for x := range strings.SplitSeq("q w e r t y u i o p", " ") {
		f.On(a, node.Action(x), step(x))
	}
	want := flow.Mermaid(f, nil)
	require.Equal(t, 10, strings.Count(want, "-->|")-1)
	for range 20 {
		require.Equal(t, want, flow.Mermaid(f))
	}
}

func TestMermaidDrawsASharedFlowAtEachPlace(t *testing.T) {
	again := flow.New("again", step("x"))
	f := flow.New("f", flow.New("one", again)).Then(flow.New("two", again))
	require.Equal(t, 2, strings.Count(flow.Mermaid(f), `["x"]`))
	require.NotContains(t, flow.Mermaid(f), "[[")
}

func TestMermaidLeavesOutWhatCannotBeReached(t *testing.T) {
	lone := step("lone")
	f := flow.New("f", step("a")).On(lone, "x", step("b")).End(lone, "y")
	require.Equal(t, "flowchart TD\n    subgraph n1[\"f\"]\n        n2[\"a\"]\n    end\n", flow.Mermaid(f))
}

func TestMermaidOfOtherNodes(t *testing.T) {
	many := node.BatchFunc("many", count[*trail](1), func(context.Context, int) (int, error) { return 0, nil }, nil)
	for _, tc := range []struct {
		node node.Node[*trail]
		want string
	}{
		{step("one"), "    n1[\"one\"]\n"},
		{many, "    n1[\"many (batch)\"]\n"},
		{nil, "    n1[\"nil\"]\n"},
		{(*flow.Flow[*trail])(nil), "    n1[\"nil\"]\n"},
		{flow.New[*trail]("f", nil), "    subgraph n1[\"f\"]\n    end\n"},
		{flow.Batch[*trail, user]("b", nil, nil, nil), "    subgraph n1[\"b (batch)\"]\n        n2[\"nil\"]\n    end\n"},
	} {
		require.Equal(t, "flowchart TD\n"+tc.want, flow.Mermaid(tc.node))
	}
}
