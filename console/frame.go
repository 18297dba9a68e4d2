package console

import (
	"strings"
	"time"

	"github.com/headrace/headrace/event"
)

// view is all that is shown of a run at one moment.
type view struct {
	*event.Progress
	failure string // the first, in one clean line
}

// How much is shown where there is room for everything.
const (
	mostNodes    = 8
	mostLimiters = 4
	mostBar      = 60
	leastBar     = 8
	roomy        = 16 // rows from which a limiter may say why on a line of its own
)

// frame draws v in at most height-1 lines of at most width-1 cells: the cursor stands below,
// and a terminal does not agree with others on what follows a character in the last column.
func frame(v view, width, height int, s style) []string {
	width = max(1, width-1)
	rows := max(1, height-1)
	lines := []string{head(v.Progress, width, s)}
	rows--
	if counts := s.line(gap, width, outcome(&v.Items, !v.Final)...); rows > 0 && strings.TrimSpace(counts) != "" {
		lines = append(lines, counts)
		rows--
	}
	var last []string
	if v.failure != "" && rows > 0 {
		last = append(last, s.line(gap, width, part{text: "first failure: " + v.failure, sgr: red}))
		rows--
	}
	var below []string
	if len(v.Limiters) > 0 && rows > 0 {
		below = limiterLines(v.Limiters, width, min(rows, max(1, rows/2)), v.Final, height >= roomy, s)
		rows -= len(below)
	}
	lines = append(lines, nodeLines(v.Progress, width, rows, s)...)
	lines = append(lines, below...)
	return append(lines, last...)
}

// head is the line that is always there: a bar, and how far it is.
func head(p *event.Progress, width int, s style) string {
	i, ended := &p.Items, ended(&p.Items)
	name := part{text: cut(clean(p.Name), max(10, width/4), s.tail()), sgr: bold}
	if p.Final {
		return s.line("", width, name, part{text: verdict(p) + " in " + exact(p.Elapsed), sgr: verdictColour(p)},
			part{text: share(i), drop: 1}, part{text: on("", average(p), " on average"), drop: 2})
	}
	parts := []part{
		name,
		{},
		{text: percent(ended, i.Total), sgr: bold},
		{text: share(i)},
		{text: speed(i.Rate), drop: 1},
		{text: left(i), drop: 2},
		{text: span(p.Elapsed), sgr: dim, drop: 3},
	}
	bar := ""
	if i.Total > 0 {
		if room := min(mostBar, width-measure("", parts)-len(gap)); room >= leastBar {
			bar = s.bar(float64(ended)/float64(i.Total), room)
		}
	}
	if bar == "" {
		return s.line("", width, parts...)
	}
	rest := s.line("", width, parts[2:]...)
	return s.paint(bold, name.text) + gap + bar + gap + rest
}

// ended is how many items have come to an end of their own. Those that were
// abandoned are left for the next run.
func ended(i *event.Items) int64 { return i.Ended() - i.Abandoned }

// share is 1,234/5,678, or what has ended if the total is not known.
func share(i *event.Items) string {
	switch ended := ended(i); {
	case i.Total > 0:
		return count(ended) + "/" + count(i.Total)
	case ended > 0 || i.Pending > 0:
		return count(ended) + " ended"
	default:
		return ""
	}
}

func left(i *event.Items) string {
	if i.ETA <= 0 {
		return ""
	}
	return span(i.ETA) + " left"
}

// outcome is what became of items besides being done.
func outcome(i *event.Items, pending bool) []part {
	parts := []part{
		{text: some(i.Failed, "failed", "failed"), sgr: red},
		{text: some(i.Abandoned, "abandoned", "abandoned"), sgr: yellow, drop: 1},
		{text: some(i.Resumed, "resumed", "resumed"), drop: 2},
		{text: some(i.Retries, "retry", "retries"), sgr: yellow, drop: 3},
	}
	if pending {
		parts = append(parts, part{text: some(i.Pending, "begun", "begun"), drop: 4})
	}
	return parts
}

// verdict is one word on how it ended, as far as the items tell.
func verdict(p *event.Progress) string {
	if i := &p.Items; i.Abandoned > 0 || i.Total > 0 && ended(i) < i.Total {
		return "stopped"
	}
	return "finished"
}

func verdictColour(p *event.Progress) string {
	switch {
	case verdict(p) == "stopped":
		return yellow
	case p.Items.Failed > 0:
		return red
	default:
		return green
	}
}

// average is the speed over all the time.
func average(p *event.Progress) string {
	if p.Elapsed < time.Second/10 {
		return ""
	}
	return speed(float64(p.Items.Done+p.Items.Failed) / p.Elapsed.Seconds())
}

// on is text with something around it, if there is any.
func on(before, text, after string) string {
	if text == "" {
		return ""
	}
	return before + text + after
}
