package console

import (
	"cmp"
	"slices"

	"github.com/headrace/headrace/event"
)

// nodeLines has a line for each node, at most so many rows: those that run go first.
func nodeLines(p *event.Progress, width, rows int, s style) []string {
	rows = min(rows, mostNodes)
	if rows < 1 || len(p.Nodes) == 1 && p.Nodes[0].Items == p.Items && share(&p.Items) != "" {
		return nil // the head says it all
	}
	nodes, more := p.Nodes, 0
	if len(nodes) > rows {
		nodes = chosen(nodes, max(1, rows-1))
		more = len(p.Nodes) - len(nodes)
	}
	names := make([]string, len(nodes))
	for i := range nodes {
		names[i] = nodes[i].Name
	}
	names = column(names, max(leastName, width/4), s)
	lines := make([]string, 0, rows)
	for i := range nodes {
		lines = append(lines, nodeLine(&nodes[i], names[i], width, s))
	}
	if more > 0 && len(lines) < rows {
		lines = append(lines, s.line(gap, width, part{text: "and " + some(more, "more node", "more nodes"), sgr: dim}))
	}
	return lines
}

// chosen are n nodes, of which those that run are the first choice and those that failed
// the second, in the order that they had.
func chosen(nodes []event.NodeProgress, n int) []event.NodeProgress {
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(&nodes[a]), rank(&nodes[b])) })
	order = order[:n]
	slices.Sort(order)
	out := make([]event.NodeProgress, n)
	for i, at := range order {
		out[i] = nodes[at]
	}
	return out
}

func rank(n *event.NodeProgress) int {
	switch {
	case n.Running > 0:
		return 0
	case n.Failures > 0 || n.Failed > 0:
		return 1
	default:
		return 2
	}
}

func nodeLine(n *event.NodeProgress, name string, width int, s style) string {
	parts := []part{{text: name}}
	if n.Running == 0 {
		parts[0].sgr = dim
	}
	if n.Ended() == 0 && n.Pending == 0 && n.Total == 0 {
		return s.line(gap, width, append(parts, steps(n)...)...)
	}
	parts = append(parts, part{text: share(&n.Items)}, part{text: percent(ended(&n.Items), n.Total), drop: 3})
	if n.Running > 0 {
		parts = append(parts, part{text: speed(n.Rate), drop: 2})
	}
	return s.line(gap, width, append(parts, outcome(&n.Items, n.Running > 0)...)...)
}

// steps is what there is to tell of a node without items.
func steps(n *event.NodeProgress) []part {
	running, ended := "", some(n.Runs, "run", "runs")
	switch {
	case n.Running == 1 && n.Runs == 0:
		running = "running"
	case n.Running > 0:
		running, ended = count(n.Running)+" running", some(n.Runs, "ended", "ended")
	}
	return []part{{text: running}, {text: ended}, {text: some(n.Failures, "failed", "failed"), sgr: red}}
}

// leastName is how much of a name is shown on a narrow terminal too.
const leastName = 12

// column makes names equally wide, at most so many cells, and clean.
func column(names []string, most int, s style) []string {
	out, widest := make([]string, len(names)), 0
	for i, name := range names {
		out[i] = cut(clean(name), most, s.tail())
		widest = max(widest, widthOf(out[i]))
	}
	for i := range out {
		out[i] = pad(out[i], widest)
	}
	return out
}
