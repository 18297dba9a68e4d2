package console

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/event"
)

// limiterLines has a line for each limiter, and a second for why it waits, where there is
// room for one: at most so many rows.
func limiterLines(all []event.LimiterProgress, width, rows int, final, spacious bool, s style) []string {
	limiters, more := all, 0
	if most := min(rows, mostLimiters); len(all) > most {
		limiters = busiest(all, max(1, most-1))
		more = len(all) - len(limiters)
	}
	names := make([]string, len(limiters))
	for i := range limiters {
		names[i] = "limiter " + limiters[i].Name
	}
	names = column(names, max(len("limiter ")+leastName, width/4), s)
	spare := rows - len(limiters) - min(more, 1)
	var lines []string
	for i := range limiters {
		l := &limiters[i]
		parts := limiterParts(l, names[i], final)
		why := part{text: reason(l), sgr: dim}
		if final && !l.Closed || !l.Closed && l.Waiting == 0 {
			why.text = ""
		}
		switch room := width - measure(gap, parts) - len(gap); {
		case why.text == "" || widthOf(why.text) <= room || !spacious || spare < 1:
			why.drop = 9
			if room >= 16 { // a shortened reason is better than none
				why.text, why.drop = cut(why.text, room, s.tail()), 0
			}
			lines = append(lines, s.line(gap, width, append(parts, why)...))
		default:
			spare--
			lines = append(lines, s.line(gap, width, parts...), s.line(gap+gap, width, why))
		}
	}
	if more > 0 && len(lines) < rows {
		lines = append(lines, s.line(gap, width, part{text: "and " + some(more, "more limiter", "more limiters"), sgr: dim}))
	}
	return lines
}

func limiterParts(l *event.LimiterProgress, name string, final bool) []part {
	parts := []part{{text: name}}
	if l.Closed {
		parts = append(parts, part{text: "closed", sgr: red})
	}
	switch {
	case final:
		parts = append(parts, part{text: some(l.Calls, "call", "calls")})
	case l.Live:
		parts = append(parts, part{text: flight(l)}, part{text: some(l.Waiting, "waiting", "waiting"), sgr: yellow, drop: 1})
	}
	parts = append(parts, paces(l.Pace)...)
	return append(parts, part{text: some(l.Hits, "refusal", "refusals"), sgr: yellow, drop: 2},
		part{text: some(l.Cuts, "cut", "cuts"), drop: 4})
}

func flight(l *event.LimiterProgress) string {
	if l.Limit <= 0 {
		return count(l.InFlight) + " in flight"
	}
	return count(l.InFlight) + "/" + count(l.Limit) + " in flight"
}

// paces is what the controller has learned: that of requests first.
func paces(all map[string]float64) []part {
	out := []part{{text: on("pace ", speed(all["requests"]), ""), drop: 3}}
	for _, unit := range slices.Sorted(maps.Keys(all)) {
		if p := speed(all[unit]); p != "" && unit != "requests" {
			number, per, _ := strings.Cut(p, "/")
			out = append(out, part{text: number + " " + clean(unit) + "/" + per, drop: 5})
		}
	}
	return out
}

// reason returns why a limiter is held back, without the counts at the beginning, which
// are shown already, and the remarks in parentheses after them.
func reason(l *event.LimiterProgress) string {
	why := clean(l.Why)
	if !strings.HasPrefix(why, strconv.Itoa(l.InFlight)+" in flight") {
		return why
	}
	numbers, after, found := strings.Cut(why, ": ")
	if !found {
		return why
	}
	if strings.Count(numbers, "(") > strings.Count(numbers, ")") { // a remark has a colon
		if end := strings.LastIndex(why, "): "); end >= 0 {
			after = why[end+len("): "):]
		}
	}
	return after
}

// busiest are n limiters: those that are closed or waited for are the first choice.
func busiest(all []event.LimiterProgress, n int) []event.LimiterProgress {
	weight := func(l event.LimiterProgress) int {
		switch {
		case l.Closed:
			return 0
		case l.Waiting > 0:
			return 1
		case l.InFlight > 0:
			return 2
		default:
			return 3
		}
	}
	sorted := slices.SortedStableFunc(slices.Values(all), func(a, b event.LimiterProgress) int { return weight(a) - weight(b) })
	return sorted[:n]
}
