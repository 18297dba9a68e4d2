package console

import (
	"strings"
	"time"

	"github.com/headrace/headrace/event"
)

// A plain line comes after a second, and later after a tenth of the time that the
// run has taken: about a hundred in the first hour, and then one a minute.
const (
	linesAtLeast = time.Second
	linesAtMost  = time.Minute
	lineStep     = 20 // and one for each twentieth of the items
)

// pacing decides when a plain line is due. It is pure: at is the time that the run has
// taken.
type pacing struct {
	least time.Duration // 0: as above
	at    time.Duration // of the last line
	step  int64         // of the last line
}

func (p *pacing) due(now *event.Progress) bool {
	at, step := now.Elapsed, int64(0)
	if now.Items.Total > 0 {
		step = ended(&now.Items) * lineStep / now.Items.Total
	}
	since := at - p.at
	if since < 0 { // another run
		*p = pacing{least: p.least}
		since = at
	}
	due := since >= p.least
	if p.least == 0 {
		due = since >= min(linesAtMost, max(linesAtLeast, at/10)) || since >= linesAtLeast && step > p.step
	}
	if due {
		p.at, p.step = at, step
	}
	return due
}

// plainLine is a line for a log, without a line feed.
func plainLine(p *event.Progress) string {
	i, ended := &p.Items, ended(&p.Items)
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	switch took := exact(p.Elapsed); {
	case p.Final:
		add(verdict(p) + " in " + took)
		add(progressed(i, ended))
	case progressed(i, ended) != "":
		add(progressed(i, ended) + " after " + span(p.Elapsed))
	default:
		add("running for " + span(p.Elapsed))
	}
	for _, part := range outcome(i, !p.Final) {
		add(part.text)
	}
	if p.Final {
		add(on("", average(p), " on average"))
	} else {
		add(speed(i.Rate))
		add(left(i))
		add(held(p.Limiters))
	}
	return clean(p.Name) + ": " + strings.Join(parts, ", ")
}

func progressed(i *event.Items, ended int64) string {
	switch {
	case i.Total > 0:
		return count(ended) + " of " + count(i.Total) + " (" + percent(ended, i.Total) + ")"
	case ended > 0 || i.Pending > 0:
		return count(ended) + " ended"
	default:
		return ""
	}
}

// held is why items wait, if they do: of the limiter with the most of them.
func held(all []event.LimiterProgress) string {
	var most *event.LimiterProgress
	for i := range all {
		if l := &all[i]; l.Waiting > 0 && (most == nil || l.Waiting > most.Waiting) {
			most = l
		}
	}
	if most == nil {
		return ""
	}
	return count(most.Waiting) + " waiting for " + clean(most.Name) + on(" (", reason(most), ")")
}

// plainEnd is a line for each limiter that did something.
func plainEnd(p *event.Progress) (lines []string) {
	for i := range p.Limiters {
		l := &p.Limiters[i]
		var parts []string
		for _, s := range []string{some(l.Calls, "call", "calls"), some(l.Hits, "refusal", "refusals"), some(l.Cuts, "cut", "cuts")} {
			if s != "" {
				parts = append(parts, s)
			}
		}
		if len(parts) > 0 {
			lines = append(lines, clean(p.Name)+": limiter "+clean(l.Name)+": "+strings.Join(parts, ", "))
		}
	}
	return lines
}
