package flowtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/event"
)

// line is one line of a timeline. What falls into the same instant is ordered
// by the rest: nothing depends on which goroutine told first.
type line struct {
	at   time.Duration
	rank int // calls, then what they led to
	n    int // the number of the call, the item or the step
	text string
}

const (
	ofCalls = iota
	ofLimiters
	ofItems
	ofFlows
	ofOthers
)

func callLine(i int, c Call) line { return line{c.Start, ofCalls, i, c.String()} }

// String is the timeline of calls, events and notes, with times to the microsecond. It omits starts
// and ends of nodes and flows, and done items.
func (r *Record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []line
	for i, c := range r.calls {
		lines = append(lines, callLine(i, c))
	}
	for _, e := range r.events {
		if !slices.Contains([]event.Kind{
			event.NodeStarted, event.NodeFinished, event.FlowStarted, event.FlowFinished, event.ItemDone,
		}, e.Kind) {
			lines = append(lines, eventLine(e))
		}
	}
	for _, n := range r.notes {
		lines = append(lines, line{n.at, ofOthers, 0, n.text})
	}
	return render(lines)
}

func eventLine(e Event) line {
	l := line{at: e.At, n: int(e.Index)}
	kind, what, _ := strings.Cut(string(e.Kind), ".")
	var b strings.Builder
	b.WriteString(kind + " " + e.Source)
	if (kind == "item" || kind == "flow") && e.Index != event.NoIndex {
		fmt.Fprintf(&b, " %d", e.Index)
	}
	b.WriteString(": ")
	switch kind {
	case "limiter", "breaker":
		if l.rank, l.n = ofLimiters, 1; e.Kind == event.LimiterHit {
			l.n = 0 // the controller's decision comes after it
		}
		limiterText(&b, what, e)
	case "item":
		l.rank = ofItems
		fmt.Fprintf(&b, "%s, attempt %d", what, e.Attempt)
		if e.Kind == event.ItemRetry {
			fmt.Fprintf(&b, ", again in %s", brief(e.Wait))
		}
	case "flow":
		l.rank, l.n = ofFlows, e.Attempt
		b.WriteString(what)
		if e.Kind == event.FlowStep {
			fmt.Fprintf(&b, " %d %s", e.Attempt, e.Key)
			if e.Reason != "" {
				fmt.Fprintf(&b, ", action %q", e.Reason)
			}
		}
	default:
		l.rank = ofOthers
		b.WriteString(what)
	}
	if e.Err != nil {
		b.WriteString(": " + firstLine(e.Err))
	}
	l.text = b.String()
	return l
}

func limiterText(b *strings.Builder, what string, e Event) {
	b.WriteString(what)
	if e.From != 0 || e.To != 0 {
		fmt.Fprintf(b, " from %.4g to %.4g", e.From, e.To)
	}
	if e.Wait > 0 {
		fmt.Fprintf(b, ", for %s", brief(e.Wait))
	}
}

// brief is d as a timeline shows it: to the microsecond.
func brief(d time.Duration) string { return d.Round(time.Microsecond).String() }

// render sorts lines and sets their times in a column.
func render(lines []line) string {
	slices.SortStableFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank), cmp.Compare(a.n, b.n), cmp.Compare(a.text, b.text))
	})
	width := 0
	for _, l := range lines {
		width = max(width, len(brief(l.at)))
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "+%-*s  %s\n", width, brief(l.at), l.text)
	}
	return b.String()
}

// abridge leaves out the middle of a timeline that is too long to read.
func abridge(timeline string) string {
	const shown = 60
	lines := strings.SplitAfter(timeline, "\n")
	if len(lines) <= 2*shown {
		return timeline
	}
	return strings.Join(lines[:shown], "") + fmt.Sprintf("... %d more\n", len(lines)-2*shown) +
		strings.Join(lines[len(lines)-shown:], "")
}
