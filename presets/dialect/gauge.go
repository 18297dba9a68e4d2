package dialect

import (
	"net/http"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// gauge names the header fields, in canonical form, that describe one limit.
type gauge struct {
	unit                    throttle.Unit // notAUnit for calls in flight
	limit, remaining, reset string        // any may be ""
	share                   string        // used and limit in one, "32/40"
}

// notAUnit is for limits that no unit counts.
const notAUnit = throttle.Units

// unknown is an amount that was not reported.
const unknown = -1

// level is what one gauge says.
type level struct {
	unit             throttle.Unit
	limit, remaining int64 // unknown, or not negative
	reset            time.Duration
}

// reading is what all gauges of an answer say.
type reading struct {
	meters [throttle.Units]adaptive.Meter
	empty  bool          // something is used up
	kind   adaptive.Kind // of what is used up and comes back last
	wait   time.Duration // until it does; 0: not reported
}

// read reads a gauge. An invalid one is ignored: some providers send -1 for unknown, together with a limit of 0.
func (g *gauge) read(h http.Header, now time.Time) (l level, ok bool) {
	l = level{unit: g.unit, limit: unknown, remaining: unknown}
	if g.share != "" {
		l.limit, l.remaining, ok = share(first(h, g.share))
		return l, ok && l.limit > 0
	}
	if l.remaining, ok = whole(first(h, g.remaining)); !ok {
		return l, false
	}
	if v := first(h, g.limit); v != "" {
		if l.limit, ok = whole(v); !ok || l.limit == 0 {
			return l, false
		}
	}
	reset, _ := wait(first(h, g.reset), now)
	l.reset = min(reset, longestReset)
	return l, true
}

// first returns the first value of a field. The name must be in canonical form.
func first(h http.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// note adds one level. If several levels share a unit, such as a project and its organisation or a second and a day, the one
// with the least remaining binds next and is used.
func (r *reading) note(l level) {
	if l.remaining < 0 {
		return
	}
	if l.remaining == 0 && (!r.empty || l.reset > r.wait) {
		r.empty, r.wait, r.kind = true, l.reset, kindOf(l.unit)
	}
	if l.limit <= 0 || l.unit >= throttle.Units {
		return
	}
	m := adaptive.Meter{Known: true, Limit: l.limit, Remaining: min(l.remaining, l.limit), Reset: l.reset}
	old := &r.meters[l.unit]
	if !old.Known || m.Remaining < old.Remaining || m.Remaining == old.Remaining && m.Reset > old.Reset {
		*old = m
	}
}

func kindOf(u throttle.Unit) adaptive.Kind {
	switch u {
	case throttle.Requests:
		return adaptive.KindRequests
	case throttle.Tokens, throttle.InputTokens, throttle.OutputTokens:
		return adaptive.KindTokens
	case notAUnit:
		return adaptive.KindConcurrency
	default:
		return adaptive.UnknownKind
	}
}
