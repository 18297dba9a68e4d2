package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// plan is a small random graph: the order of the calls that build it, and what
// each node does in its first, second, ... run.
type plan struct {
	calls []call
	nodes int
	does  [][]string // "!" fails, "*" panics, anything else is the action
	bound int
}

// call is one call of the builder: Then(to), On(from, action, to) or End(from, action).
type call struct {
	method   string
	from, to int
	action   string
}

func drawPlan(t *rapid.T) plan {
	actions := rapid.SampledFrom([]string{"", "a", "b"})
	p := plan{nodes: rapid.IntRange(1, 5).Draw(t, "nodes"), bound: rapid.IntRange(1, 12).Draw(t, "bound")}
	index := rapid.IntRange(0, p.nodes-1)
	reached, cursor := []int{0}, 0 // most edges lead on from where others lead to
	for range rapid.IntRange(0, 10).Draw(t, "calls") {
		c := call{
			rapid.SampledFrom([]string{"Then", "On", "On", "End"}).Draw(t, "method"),
			rapid.SampledFrom(reached).Draw(t, "from"), index.Draw(t, "to"), actions.Draw(t, "action"),
		}
		if rapid.IntRange(0, 19).Draw(t, "anywhere") == 0 {
			c.from = index.Draw(t, "from anywhere")
		}
		if c.method == "Then" {
			c.from, c.action = cursor, ""
		}
		if p.taken(c) && rapid.IntRange(0, 9).Draw(t, "twice") > 0 {
			continue
		}
		p.calls = append(p.calls, c)
		if c.method == "Then" {
			cursor = c.to
		}
		if c.method != "End" && !slices.Contains(reached, c.to) {
			reached = append(reached, c.to)
		}
	}
	for range p.nodes {
		p.does = append(p.does, rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "", "a", "a", "a", "b", "b", "!", "*"}), 1, 3).Draw(t, "does"))
	}
	return p
}

func (p plan) taken(c call) bool {
	return slices.ContainsFunc(p.calls, func(o call) bool { return o.from == c.from && o.action == c.action })
}

// outcome is what of a run is compared.
type outcome struct {
	visited []int
	action  string
	kind    string
	at      int // the node an error names; -1 without
}

// interpret is the model: a table of edges, built and walked in the plainest way.
func (p plan) interpret() outcome {
	const end = -1
	edges := map[int]map[string]int{}
	cursor, invalid := 0, false
	for _, c := range p.calls {
		from, action, to := c.from, c.action, c.to
		switch c.method {
		case "Then":
			from, cursor = cursor, c.to
		case "End":
			to = end
		}
		if _, taken := edges[from][action]; taken {
			invalid = true
			continue
		}
		if edges[from] == nil {
			edges[from] = map[string]int{}
		}
		edges[from][action] = to
	}

	// Reachable from 0, and from there out again, by walking until nothing is new.
	reach := func(from int) map[int]bool {
		seen, todo := map[int]bool{from: true}, []int{from}
		for len(todo) > 0 {
			n := todo[0]
			todo = todo[1:]
			if len(edges[n]) == 0 && n != end && !seen[end] {
				seen[end] = true
			}
			for _, to := range edges[n] {
				if !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
		return seen
	}
	reached := reach(0)
	for n := range edges {
		invalid = invalid || !reached[n]
	}
	for n := range reached {
		invalid = invalid || (n != end && !reach(n)[end])
	}
	if invalid {
		return outcome{kind: "invalid", at: -1}
	}

	o := outcome{at: -1}
	for at := 0; ; {
		if len(o.visited) == p.bound {
			o.kind, o.at = "steps", at
			return o
		}
		runs := 0
		for _, n := range o.visited {
			if n == at {
				runs++
			}
		}
		o.visited = append(o.visited, at)
		does := p.does[at][runs%len(p.does[at])]
		if does == "!" || does == "*" {
			o.kind, o.at = map[string]string{"!": "failed", "*": "panicked"}[does], at
			return o
		}
		o.action = does
		if len(edges[at]) == 0 {
			return o
		}
		to, known := edges[at][does]
		switch {
		case !known:
			o.kind, o.at = "action", at
			return o
		case to == end:
			return o
		}
		at = to
	}
}

// run builds the flow and runs it, as a node of another.
func (p plan) run(ctx context.Context) outcome {
	o := outcome{at: -1}
	nodes := make([]node.Node[*trail], p.nodes)
	for i := range nodes {
		runs := 0
		nodes[i] = &custom{strconv.Itoa(i), func(context.Context) (node.Action, error) {
			o.visited = append(o.visited, i)
			does := p.does[i][runs%len(p.does[i])]
			runs++
			switch does {
			case "!":
				return "a", errBoom
			case "*":
				panic("at the disco")
			}
			return node.Action(does), nil
		}}
	}
	f := flow.New("f", nodes[0]).WithMaxSteps(p.bound)
	for _, c := range p.calls {
		switch c.method {
		case "Then":
			f.Then(nodes[c.to])
		case "On":
			f.On(nodes[c.from], node.Action(c.action), nodes[c.to])
		case "End":
			f.End(nodes[c.from], node.Action(c.action))
		}
	}
	report, err := flow.Run(ctx, flow.New("outer", f), &trail{})
	o.action = string(report.Action)

	var (
		field    *fault.FieldError
		steps    *flow.StepsError
		unknown  *flow.ActionError
		panicked *fault.PanicError
		at       *flow.StepError
		where    string
	)
	switch {
	case err == nil:
		return o
	case errors.As(err, &steps):
		o.kind, where = "steps", steps.Node
	case errors.As(err, &unknown):
		o.kind, where = "action", unknown.Node
	case errors.As(err, &panicked):
		o.kind = "panicked"
	case errors.Is(err, errBoom):
		o.kind = "failed"
	case errors.As(err, &field):
		o.kind = "invalid"
		return o
	}
	if where == "" && errors.As(err, &at) && errors.As(at.Err, &at) { // the outer's, then f's
		where = at.Node
	}
	_, _ = fmt.Sscan(where, &o.at)
	return o
}

func TestAFlowDoesWhatItsGraphSays(t *testing.T) {
	kinds := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		want, got := p.interpret(), p.run(context.Background())
		if want.kind != "" { // the action beside an error is not promised
			want.action, got.action = "", ""
		}
		require.Equal(t, want, got)
		kinds[want.kind]++
	})
	t.Log(kinds)
}
