package flow_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/throttle"
)

func TestMermaidWithLimitsAndCounts(t *testing.T) {
	limits, err := throttle.ParseLimits("500/min, 8 concurrent")
	require.NoError(t, err)
	shared, err := guard.New(guard.Policy{Name: "openai", Limits: limits})
	require.NoError(t, err)
	bare, err := guard.New(guard.Policy{Name: "bare"})
	require.NoError(t, err)
	nothing := func(context.Context, *trail) error { return nil }
	f := flow.New("f", node.Do("own", nothing).With(guard.Policy{Limits: limits, Law: adaptive.AIMD{}})).
		Then(node.Do("preset", nothing).With(guard.Policy{Preset: presets.OpenAITier1})).
		Then(node.Do("shared", nothing).Within(shared)).
		Then(node.Do("without caps", nothing).Within(bare)).
		Then(node.Do("both", nothing).With(guard.Policy{Limits: throttle.Limits{Concurrency: 2}}).Within(shared, bare)).
		Then(node.Do("none", nothing))
	f.Then(flow.Batch("users", of[*trail](users(1)...), note("inside"), nil))
	r := &flow.Report{
		Nodes: map[string]flow.NodeReport{
			"f":     {Runs: 1},
			"own":   {Runs: 1},
			"none":  {Runs: 3, Failures: 1, Retries: 1},
			"users": {Runs: 1, Done: 9, Failed: 2, Resumed: 3, Abandoned: 1, Retries: 4},
		},
		Limiters: map[string]flow.LimiterReport{
			"own": {Hits: 1, Cuts: 1}, "openai": {Hits: 2, Cuts: 0, Closed: true}, "users": {Cuts: 2}, "preset": {Recoveries: 1},
		},
	}
	for name, opts := range map[string][]flow.DrawOption{
		"limits": {flow.ShowLimits()}, "counts": {flow.ShowCounts(r)}, "limits_and_counts": {flow.ShowCounts(r), flow.ShowLimits()},
	} {
		drawing := flow.Mermaid(f, opts...)
		want, err := os.ReadFile("testdata/" + name + ".mmd")
		require.NoError(t, err)
		require.Equal(t, string(want), drawing, name)
		requireMermaid(t, drawing)
	}
	require.Equal(t, flow.Mermaid(f), flow.Mermaid(f, flow.ShowCounts(nil)))
	require.Equal(t, flow.Mermaid(f), flow.Mermaid(f, flow.ShowCounts(&flow.Report{})))
}

func TestMermaidOfNamesThatMeanSomethingToIt(t *testing.T) {
	for name, want := range map[string]string{
		"":                      "#160;",
		" \t ":                  "#160;",
		"1. first":              "1#46; first",
		"12) x":                 "12#41; x",
		"- x":                   "#45; x",
		"* x":                   "#42; x",
		"-x":                    "-x",
		"1.5 x":                 "1.5 x",
		"%%{init: {}}%%":        "#37;#37;{init: {}}#37;#37;",
		"50 %":                  "50 %",
		"a\u2028b\tc\x00d\x7f":  "a b c d ",
		"\xff":                  "\uFFFD",
		"Übersicht → 東京 [x](y)": "Übersicht → 東京 [x](y)",
		"subgraph end":          "subgraph end",
	} {
		drawing := flow.Mermaid(step(name))
		require.Equal(t, "flowchart TD\n    n1[\""+want+"\"]\n", drawing)
		requireMermaid(t, drawing)
	}
}

// requireMermaid judges s by a grammar of what of Mermaid is used here.
func requireMermaid(t interface {
	require.TestingT
	Helper()
}, s string,
) {
	t.Helper()
	const text = `"((?:[^"#&<>` + "`" + `\x00-\x1f]|#(?:\d+|quot|amp|lt|gt);|<br/>)+)"`
	var (
		node     = regexp.MustCompile(`^(n\d+)(?:\[` + text + `\]|\[\[` + text + `\]\]|\(\(` + text + `\)\))$`)
		subgraph = regexp.MustCompile(`^subgraph (n\d+)\[` + text + `\]$`)
		edge     = regexp.MustCompile(`^(n\d+) -->(?:\|` + text + `\|)? (n\d+)$`)
	)
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	require.Equal(t, "flowchart TD", lines[0])
	known, depth := map[string]bool{}, 0
	for _, line := range lines[1:] {
		line = strings.TrimLeft(line, " ")
		require.NotContains(t, line, "%%")
		switch {
		case line == "end":
			depth--
		case subgraph.MatchString(line):
			depth++
			known[subgraph.FindStringSubmatch(line)[1]] = true
		case node.MatchString(line):
			known[node.FindStringSubmatch(line)[1]] = true
		default:
			parts := edge.FindStringSubmatch(line)
			require.NotNil(t, parts, "%q is neither a node, a box nor an edge", line)
			require.True(t, known[parts[1]] && known[parts[3]], line)
		}
		require.GreaterOrEqual(t, depth, 0)
	}
	require.Zero(t, depth)
}

func TestMermaidOfAnyName(t *testing.T) {
	name := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("1.-+* #;&<>\"`%{}[]()|\n\r\tnd"))))
	rapid.Check(t, func(t *rapid.T) {
		a := step(name.Draw(t, "a"))
		inner := flow.Batch("b", of[*trail](users(1)...), note(name.Draw(t, "inside")), nil)
		f := flow.New(name.Draw(t, "flow"), a).Then(inner).On(a, node.Action(name.Draw(t, "action")), inner)
		r := &flow.Report{Nodes: map[string]flow.NodeReport{a.Name(): {Runs: 2}}}
		requireMermaid(t, flow.Mermaid(f, flow.ShowLimits(), flow.ShowCounts(r)))
	})
}
