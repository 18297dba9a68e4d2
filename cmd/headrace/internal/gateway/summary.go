package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// Summary returns a few lines about what the proxy did for its callers, such as "the command".
func (g *Gateway) Summary(callers string) []string {
	s := g.Stats()
	if s.Calls == 0 {
		var refused int64
		for _, n := range s.Errors {
			refused += n
		}
		if refused == 0 {
			return []string{"no calls came through the proxy (docs/proxy.md lists the variables that clients read)"}
		}
	}
	first := plural(s.Calls, "call")
	if s.Hidden > 0 {
		first += fmt.Sprintf(", %s hidden from %s", plural(s.Hidden, "429"), callers)
	}
	if seen := s.Refused - s.Hidden; seen > 0 {
		first += fmt.Sprintf(", %s passed on to %s", plural(seen, "429"), callers)
	}
	if s.Joined > 0 {
		first += fmt.Sprintf(", %d joined an earlier one", s.Joined)
	}
	first += fmt.Sprintf("; %s waited %s in all", map[bool]string{true: "it", false: "they"}[s.Calls == 1], rounded(s.Waited))
	lines := []string{first}
	for _, k := range g.registry.Stats().Keys {
		if k.Admitted == 0 {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: %s", cut(k.Name), found(&k.View)))
	}
	var codes []string
	for code, n := range s.Errors {
		codes = append(codes, fmt.Sprintf("%s (%d)", code, n))
	}
	if slices.Sort(codes); len(codes) > 0 {
		lines = append(lines, "responses of the proxy itself: "+strings.Join(codes, ", "))
	}
	return lines
}

// cut returns the name of a limiter without the part that identifies the credentials.
func cut(name string) string {
	name, _, _ = strings.Cut(name, " ")
	return name
}

// found describes what was learned. A rate counts from the second decrease on, because the
// first decrease measures a burst as well, and because the rate of a preset was not found.
func found(v *adaptive.View) string {
	measured := v.Cuts > 1 || v.Cuts == 1 && v.Hits == 0 // by headers alone
	var all []string
	for unit, pace := range v.Pace {
		if pace > 0 && measured {
			all = append(all, rate(pace, throttle.Unit(unit)))
		}
	}
	switch {
	case len(all) > 0:
		return "found " + strings.Join(all, " and ")
	case v.Hits > 0 && v.Concurrency > 0 && v.Pace == [throttle.Units]float64{}:
		return fmt.Sprintf("found %d calls in flight", v.Concurrency)
	case v.Hits > 0:
		return "met a limit, but has not found its rate yet"
	}
	return "met no limit"
}

// rate writes units per second in a readable form.
func rate(perSecond float64, unit throttle.Unit) string {
	n, period := perSecond, "s"
	if perSecond < 1 {
		n, period = 60*perSecond, "min"
	}
	text := strconv.FormatFloat(n, 'f', 1, 64)
	if n >= 100 {
		text = strconv.FormatFloat(n, 'f', 0, 64)
	}
	if unit == throttle.Requests {
		return text + "/" + period
	}
	return fmt.Sprintf("%s %s/%s", text, unit, period)
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(n, 10) + " " + what + "s"
}

func rounded(d time.Duration) time.Duration {
	unit := time.Millisecond
	if d > 10*time.Second {
		unit = 100 * time.Millisecond
	}
	return cmp.Or(d.Round(unit), 0)
}
