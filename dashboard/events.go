package dashboard

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/event"
)

const (
	mostEvents = 100
	mostText   = 300 // bytes of the text of an event
	mostNames  = 1024
)

// sdkRetries is headrace.SDKRetries, of a package that this one does not import.
const sdkRetries event.Kind = "transport.sdk_retries"

// incoming is what observers receive until the next look. It never waits for a reader.
type incoming struct {
	mu     sync.Mutex // guards everything below
	last   int64
	lines  []Line           // the last ones
	failed map[string]int64 // calls, by limiter
}

// Observe implements event.Observer.
func (d *Dashboard) Observe(e event.Event) {
	what, shown := told(&e)
	if !shown {
		return
	}
	in := &d.incoming
	in.mu.Lock()
	defer in.mu.Unlock()
	in.last++
	if len(in.lines) == mostEvents {
		copy(in.lines, in.lines[1:])
		in.lines = in.lines[:mostEvents-1]
	}
	in.lines = append(in.lines, Line{ID: in.last, Time: e.Time, Limiter: short(e.Source), Kind: string(e.Kind), Text: short(what)})
}

// ObserveCall implements event.CallObserver: it counts calls that failed for other reasons than a rate limit.
func (d *Dashboard) ObserveCall(c event.Call) {
	if c.Outcome != "transient" && c.Outcome != "terminal" && c.Outcome != "unclassified" {
		return
	}
	in := &d.incoming
	in.mu.Lock()
	defer in.mu.Unlock()
	if _, known := in.failed[c.Limiter]; known || len(in.failed) < mostNames {
		in.failed[c.Limiter]++
	}
}

// latest is the ID of the last event.
func (in *incoming) latest() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.last
}

// has reports whether an event such as e arrived after the one with this ID.
func (in *incoming) has(after int64, e *event.Event) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.ContainsFunc(in.lines, func(l Line) bool {
		return l.ID > after && l.Kind == string(e.Kind) && l.Limiter == short(e.Source)
	})
}

// take returns copies of what there is.
func (in *incoming) take() (lines []Line, failed map[string]int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.lines), maps.Clone(in.failed)
}

// told is an event in words. Errors are left out: what a provider answers may repeat a key. 429s and waits are too many,
// and are counted.
func told(e *event.Event) (what string, shown bool) {
	reason := e.Reason
	switch e.Kind {
	case event.LimiterCut:
		what, reason = change("allows", "less", e)
	case event.LimiterRecovery:
		what, reason = change("allows", "more", e)
	case event.LimiterProbe:
		what, reason = change("tries", "more", e)
	case event.LimiterGate:
		what = "admits no call for " + wait(e)
	case event.LimiterVerdict:
	case event.LimiterClosed:
		what = "closed: calls fail until it is reopened"
	case event.LimiterReopened:
		what = "reopened"
	case event.LimiterPaused:
		what = "paused for " + wait(e)
	case event.LimiterChanged:
		what = "changed"
	case event.LimiterStalePreset, sdkRetries:
	case event.BreakerOpened:
		what = "circuit breaker opened for " + wait(e)
	case event.BreakerHalfOpen:
		what = "circuit breaker tries one call"
	case event.BreakerClosed:
		what = "circuit breaker closed"
	default:
		return "", false
	}
	if reason != "" {
		what = strings.TrimPrefix(what+": "+reason, ": ")
	}
	return what, true
}

// change is what a control law did, with numbers and their unit if there are any, and the rest of its reason.
func change(does, than string, e *event.Event) (what, reason string) {
	const rate = "requests per second"
	from, to, unit, reason := fmt.Sprintf("%.4g", e.From), fmt.Sprintf("%.4g", e.To), "", e.Reason
	if rest, found := strings.CutPrefix(reason, rate); found {
		unit, reason = " "+rate, strings.TrimPrefix(rest, ": ")
	}
	switch {
	case from == to && strings.HasPrefix(reason, does+" "):
		return "", reason
	case from == to:
		return does + " " + than, reason
	case e.From == 0: // there was no bound
		return does + " " + to + unit, reason
	}
	return does + " " + than + ", " + to + " instead of " + from + unit, reason
}

func wait(e *event.Event) string {
	if e.Wait < time.Second {
		return e.Wait.Round(time.Millisecond).String()
	}
	return e.Wait.Round(time.Second / 10).String()
}

// short is text of a bounded length.
func short(text string) string {
	if len(text) > mostText {
		return strings.ToValidUTF8(text[:mostText], "") + "..."
	}
	return text
}
