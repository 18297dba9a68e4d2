package rules

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/document"
	"github.com/headrace/headrace/throttle"
)

// rule is what l means.
func (l *Limit) rule(keys []string, p *document.Problems) *Rule {
	r := &Rule{Name: l.Name, Scope: l.Scope, Resource: l.Resource}
	if l.Name != "" && !names.MatchString(l.Name) {
		p.Addf(document.Below(keys, "name"), "%q is not a name: write up to 64 letters, digits and . _ : / -", document.Clip(l.Name))
	}
	if l.MinRefill != nil {
		if n := *l.MinRefill; n < 0 || n > mostMinRefill {
			p.Addf(document.Below(keys, "min_refill_interval_ms"), "%d is not between 0 and %d", n, mostMinRefill)
		} else {
			r.MinWait = time.Duration(n) * time.Millisecond
		}
	}
	if l.Limits != nil {
		l.windows(r, keys, p)
		return r
	}
	at := document.Below(keys, "capacity")
	switch {
	case l.Capacity == nil && l.RefillRate == nil:
		p.Mixf(at, "there is neither a capacity nor limits: write one of them, such as capacity: 100 or limits: 5/s")
		return r
	case l.Capacity == nil:
		p.Mixf(at, "it is missing: write how many tokens there are at most")
		return r
	case *l.Capacity < 1 || *l.Capacity > throttle.MaxAmount:
		p.Addf(at, "%d is not between 1 and %d", *l.Capacity, int64(throttle.MaxAmount))
		return r
	case l.RefillRate == nil:
		p.Mixf(document.Below(keys, "refill_rate"), "it is missing: write tokens per second, or 0 for a quota that is never refilled")
		return r
	}
	capacity, rate := *l.Capacity, *l.RefillRate
	at = document.Below(keys, "refill_rate")
	switch {
	case !(rate >= 0):
		p.Addf(at, "%g is negative: write tokens per second, or 0 for a quota that is never refilled", rate)
		return r
	case rate > float64(capacity)*refillFactor:
		p.Mixf(at, "%g is more than %d times the capacity: write at most %d", rate, refillFactor, capacity*refillFactor)
		return r
	case rate == 0:
		r.OneShot = true
		r.Limits.Windows = []throttle.Window{throttle.Fixed(capacity, oneShot, oneShotSince).Of(throttle.Points)}
	default:
		r.Limits.Windows = []throttle.Window{throttle.Bucket(rate, capacity).Of(throttle.Points)}
	}
	if err := r.Limits.Validate(); err != nil {
		p.Addf(at, "%g is too slow for a capacity of %d: write 0 for a quota that is never refilled", rate, capacity)
	}
	return r
}

// A one-shot quota is a calendar window of a century. Of all windows it is the cheapest
// to keep, and its end is past every clock that is right.
const oneShot = 36_500 * 24 * time.Hour

var oneShotSince = time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

// windows makes a rule of limits in text form, which count tokens of checks.
func (l *Limit) windows(r *Rule, keys []string, p *document.Problems) {
	at := document.Below(keys, "limits")
	if l.Capacity != nil || l.RefillRate != nil {
		p.Mixf(at, "it is set together with capacity or refill_rate: leave one of them out")
	}
	const mostWindows = 8
	switch n := len(l.Limits.Windows); {
	case n == 0 && l.Limits.Concurrency == 0:
		p.Addf(at, "there is no window: write one such as 5/s")
	case n > mostWindows:
		p.Addf(at, "%d windows are more than %d", n, mostWindows)
	}
	if l.Limits.Concurrency > 0 {
		p.Addf(at, "%d concurrent cannot be enforced, because a check does not end: write windows, such as 5/s", l.Limits.Concurrency)
	}
	for _, w := range l.Limits.Windows {
		if w.Unit() != throttle.Requests {
			p.Addf(at, "%s counts %s: leave the unit out, since every window counts the tokens of checks", w, w.Unit())
		}
		r.Limits.Windows = append(r.Limits.Windows, w.Of(throttle.Points))
	}
}

// names of rules are shown in headers and metrics.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}$`)

// nameOf is the name of a limit that has none.
func nameOf(i int, l *Limit) string {
	name := l.Scope
	if l.Resource != "" {
		name += "/" + l.Resource
	}
	if names.MatchString(name) && name != "default" {
		return name
	}
	return fmt.Sprintf("limit-%d", i+1)
}

// longestName bounds scopes and resources in bytes.
const longestName = 256

// checkText is for a scope or a resource.
func checkText(keys []string, text string, required bool, p *document.Problems) {
	switch {
	case text == "" && required:
		p.Addf(keys, "it is missing: write one such as user")
	case len(text) > longestName:
		p.Addf(keys, "it has more than %d bytes", longestName)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }):
		p.Addf(keys, "it has a control character")
	}
}
