package flow

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inside"
	"github.com/headrace/headrace/throttle"
)

// DrawOption is an option of Mermaid.
type DrawOption func(*diagram)

// ShowLimits adds to each node its preset, hard limits, controller and outer guards.
func ShowLimits() DrawOption { return func(d *diagram) { d.limits = true } }

// ShowCounts adds to each node the counts of the run that r is of: items of a batch, runs of a step,
// and the refusals and decreases of its limiter.
func ShowCounts(r *Report) DrawOption { return func(d *diagram) { d.counts = r } }

// details is the label of a node.
func (d *diagram) details(name string, x any) string {
	n, named := x.(interface{ Name() string })
	if _, isFlow := x.(interface{ checkGraph(names bool) error }); isFlow || !named {
		return label(name)
	}
	lines, p := []string{name}, policyOf(x)
	if d.limits {
		lines = append(lines, limitsLines(&p)...)
	}
	if d.counts != nil {
		learner, prefix := n.Name(), ""
		if !learns(&p) {
			learner = p.Within[0].Learner().Name()
			prefix = "guard " + learner + ": "
		}
		lines = append(lines, nodeLine(d.counts.Nodes[n.Name()], isBatch(x))...)
		lines = append(lines, limiterLine(d.counts.Limiters[learner], prefix)...)
	}
	return label(strings.Join(lines, "\n"))
}

func policyOf(x any) guard.Policy {
	if n, ok := x.(transparent); ok {
		p, _, _ := n.Inside(inside.Key{})
		return p
	}
	return guard.Policy{}
}

// learns reports whether the node learns itself from its rate-limit responses.
func learns(p *guard.Policy) bool { return len(p.Within) == 0 || knows(p) }

// knows reports whether the node's own settings are about the provider.
func knows(p *guard.Policy) bool {
	return p.Law != nil || p.Preset != "" || p.Dialect != nil || p.Detector != nil
}

func limitsLines(p *guard.Policy) (lines []string) {
	if p.Preset != "" {
		lines = append(lines, "preset "+string(p.Preset))
	}
	if caps := caps(p.Limits); caps != "" {
		lines = append(lines, caps)
	}
	if learns(p) && (knows(p) || len(lines) > 0) {
		lines = append(lines, "law "+lawName(p.Law))
	}
	for _, g := range p.Within {
		lines = append(lines, joined(": ", "guard "+g.Name(), caps(g.Stats().Limits)))
	}
	return lines
}

// caps is the text of limits, empty if there are none.
func caps(l throttle.Limits) string {
	if l.Concurrency == 0 && len(l.Windows) == 0 {
		return ""
	}
	return l.String()
}

// lawName is the name of the controller's type; nil is the default.
func lawName(l adaptive.Law) string {
	if l == nil {
		l = adaptive.Measured{}
	}
	name := fmt.Sprintf("%T", l)
	return name[strings.LastIndex(name, ".")+1:]
}

func nodeLine(n NodeReport, isBatch bool) []string {
	if n == (NodeReport{}) {
		return nil
	}
	if !isBatch {
		return []string{joined(", ", counted(n.Runs, "run"), some(n.Failures, "failed"), times(n.Retries, "retry", "retries"))}
	}
	return []string{joined(", ", fmt.Sprintf("%d done", n.Done), some(n.Resumed, "resumed"), some(n.Failed, "failed"),
		some(n.Abandoned, "abandoned"), times(n.Retries, "retry", "retries"))}
}

func limiterLine(l LimiterReport, prefix string) []string {
	closed := ""
	if l.Closed {
		closed = "closed"
	}
	line := joined(", ", times(l.Hits, "refusal", "refusals"), times(l.Cuts, "cut", "cuts"), closed)
	if line == "" {
		return nil
	}
	return []string{prefix + line}
}

func counted(n int64, one string) string { return fmt.Sprint(n, " ", plural(n, one, one+"s")) }

func some(n int64, what string) string { return times(n, what, what) }

func times(n int64, one, many string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n, " ", plural(n, one, many))
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// joined leaves out what is empty.
func joined(sep string, parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, sep)
}

// label quotes a name for Mermaid, which has entities of its own in place of
// backslashes. A backtick would begin Markdown, two percent signs a comment or a directive, and a
// label that begins like a list is taken for one. An empty one is no label.
func label(name string) string {
	text := strings.NewReplacer(
		"#", "#35;", `"`, "#quot;", "&", "#amp;", "<", "#lt;", ">", "#gt;", "`", "#96;", "%%", "#37;#37;",
		"\r\n", "<br/>", "\n", "<br/>", "\r", "<br/>",
	).Replace(name)
	text = strings.Map(printable, strings.ToValidUTF8(text, "\uFFFD"))
	if list := regexp.MustCompile(`^\s*(\d+[.)]|[-+*])\s`).FindStringSubmatchIndex(text); list != nil {
		mark := list[3] - 1
		text = fmt.Sprintf("%s#%d;%s", text[:mark], text[mark], text[mark+1:])
	}
	if strings.TrimSpace(text) == "" {
		text = "#160;"
	}
	return `"` + text + `"`
}

// printable puts spaces in the place of what ends a line for some, or is not to be seen.
func printable(r rune) rune {
	if r < ' ' || r == '\u007f' || r == '\u0085' || r == '\u2028' || r == '\u2029' {
		return ' '
	}
	return r
}
