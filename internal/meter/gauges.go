package meter

import (
	"slices"
	"time"
)

// SlotPoll is how soon a call that waits for a slot is to ask again.
const SlotPoll = 25 * time.Millisecond

// Amounts is a cost by unit, in the order of throttle.Unit.
type Amounts [5]int64

// Gauges is the windows of one key, with what was taken from them.
type Gauges []Gauge

// BoundKind is what a call waits for.
type BoundKind uint8

// What a call may wait for.
const (
	NotBound BoundKind = iota
	ByWindow
	ByPause
	BySlot
)

// Bound is what holds a call back the longest, if anything does.
type Bound struct {
	Kind   BoundKind
	Wait   time.Duration // 0: nothing
	Window int           // of ByWindow, its index
	Demand int           // see Later
}

// Succeed returns gauges of other windows that inherit what was taken from g.
// Calls with a number up to since were not charged.
func (g Gauges) Succeed(now Instant, windows []Window, base time.Time, since int64) Gauges {
	next := make(Gauges, len(windows))
	for i, w := range windows {
		next[i] = New(w, base, 0, since)
		next[i].Inherit(now, g, i)
	}
	return next
}

// Bound returns what holds back a call that costs a: a pause until the instant
// cooled, or the window that admits it last.
func (g Gauges) Bound(now, cooled Instant, a *Amounts) (b Bound) {
	if wait := cooled - now; wait > 0 {
		b = Bound{Kind: ByPause, Wait: wait}
	}
	for i := range g {
		if n := a[g[i].Unit]; n > 0 {
			if wait := g[i].Wait(now, n); wait > b.Wait {
				b = Bound{Kind: ByWindow, Wait: wait, Window: i}
			}
		}
	}
	return b
}

// Later makes b wait for c too, which holds back that demand. Of windows and
// pauses the longest counts. A slot counts only if nothing else is missing: it
// may be free by the time that the others admit the call.
func (b *Bound) Later(demand int, c Bound) {
	slot, slots := c.Kind == BySlot, b.Kind == BySlot
	if c.Wait == 0 || slot == slots && c.Wait <= b.Wait || slot && !slots && b.Wait > 0 {
		return
	}
	*b = c
	b.Demand = demand
}

// Take charges n calls that cost a each, whether they fit or not.
func (g Gauges) Take(now Instant, a *Amounts, n int64) {
	for i := range g {
		if each := a[g[i].Unit]; each > 0 {
			g[i].Take(now, n*each)
		}
	}
}

// Fit returns how many of n calls that cost a each fit now. A bucket rounds their
// sum: after Take, one more may still fit.
func (g Gauges) Fit(now Instant, a *Amounts, n int64) int64 {
	for i := range g {
		each := a[g[i].Unit]
		if each <= 0 {
			continue
		}
		if n = min(n, g[i].Max/each); n == 0 || g[i].Wait(now, n*each) == 0 {
			continue
		}
		fits, none := int64(0), n
		for none-fits > 1 {
			if half := fits + (none-fits)/2; g[i].Wait(now, half*each) == 0 {
				fits = half
			} else {
				none = half
			}
		}
		n = fits
	}
	return n
}

// Settle gives back less of what the call with this number took at the instant
// taken, or charges it where less is negative. It reports whether a gauge has
// changed.
func (g Gauges) Settle(now Instant, number int64, taken Instant, less *Amounts) (changed bool) {
	for i := range g {
		if g[i].Settle(now, number, taken, less[g[i].Unit]) {
			changed = true
		}
	}
	return changed
}

// Idle reports whether nothing counts against any of the windows.
func (g Gauges) Idle(now Instant) bool {
	return !slices.ContainsFunc(g, func(one Gauge) bool { return one.Spent(now) > 0 })
}
