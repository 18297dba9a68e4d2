package meter

import (
	"cmp"
	"slices"
	"time"
)

// Key is the state of one key, as a store outside of memory keeps it. A Codec
// writes and reads it.
type Key struct {
	Concurrency int
	Gauges      Gauges
	Cooled      Instant // no call is admitted before it
	Slots       []Slot  // taken, by rising Token
}

// Slot is a slot that a call has taken.
type Slot struct {
	Token int64
	Ends  Instant // it has lapsed from this instant on
}

// Under sets the limits of the key, and reports whether they differ from those
// before. History is kept.
func (k *Key) Under(now Instant, concurrency int, windows []Window, base time.Time, since int64) (changed bool) {
	changed = k.Concurrency != concurrency
	k.Concurrency = concurrency
	if slices.EqualFunc(k.Gauges, windows, func(g Gauge, w Window) bool { return g.same(&w) }) {
		return changed
	}
	k.Gauges = k.Gauges.Succeed(now, windows, base, since)
	return true
}

// Lapse frees the slots after their time is over.
func (k *Key) Lapse(now Instant) {
	k.Slots = slices.DeleteFunc(k.Slots, func(s Slot) bool { return s.Ends <= now })
}

// Bound returns what holds back a call that costs a: a pause, a window or, if
// neither does, a slot. Slots have been lapsed.
func (k *Key) Bound(now Instant, a *Amounts) Bound {
	b := k.Gauges.Bound(now, k.Cooled, a)
	if b.Wait > 0 || k.Concurrency == 0 || len(k.Slots) < k.Concurrency {
		return b
	}
	first := slices.MinFunc(k.Slots, func(a, b Slot) int { return cmp.Compare(a.Ends, b.Ends) })
	return Bound{Kind: BySlot, Wait: min(SlotPoll, first.Ends-now)}
}

// Fit returns how many of n calls that cost a each are admitted now. Slots have been lapsed.
func (k *Key) Fit(now Instant, a *Amounts, n int64) int64 {
	if k.Cooled > now {
		return 0
	}
	if k.Concurrency > 0 {
		n = min(n, int64(max(0, k.Concurrency-len(k.Slots))))
	}
	return k.Gauges.Fit(now, a, n)
}

// Hold gives a slot to the call with that token, which must exceed all earlier ones.
func (k *Key) Hold(token int64, ends Instant) { k.Slots = append(k.Slots, Slot{token, ends}) }

// Held returns the slot of that token, or nil. Slots have been lapsed.
func (k *Key) Held(token int64) *Slot {
	if i, found := k.find(token); found {
		return &k.Slots[i]
	}
	return nil
}

// Free frees the slot of that token, and reports whether there was one.
func (k *Key) Free(token int64) bool {
	i, found := k.find(token)
	if found {
		k.Slots = slices.Delete(k.Slots, i, i+1)
	}
	return found
}

func (k *Key) find(token int64) (i int, found bool) {
	return slices.BinarySearchFunc(k.Slots, token, func(s Slot, token int64) int { return cmp.Compare(s.Token, token) })
}

// Idle reports whether the key is in the same state as a new one.
func (k *Key) Idle(now Instant) bool {
	return k.Cooled <= now && !slices.ContainsFunc(k.Slots, func(s Slot) bool { return s.Ends > now }) && k.Gauges.Idle(now)
}

// same reports whether w and v count the same, in whatever process they were made.
func (w Window) same(v *Window) bool {
	return w.Kind == v.Kind && w.Unit == v.Unit && w.Max == v.Max && w.Per == v.Per && w.Rate == v.Rate &&
		(w.Kind != CalendarWindow || w.Anchor.Equal(v.Anchor) && sameZone(w.Anchor, v.Anchor))
}

func sameZone(a, b time.Time) bool {
	if a.Location() == b.Location() {
		return true
	}
	if fixed := isFixed(a); fixed || isFixed(b) {
		_, x := a.Zone()
		_, y := b.Zone()
		return fixed && isFixed(b) && x == y
	}
	return a.Location().String() == b.Location().String()
}

// isFixed reports whether the clocks of t's zone never change.
func isFixed(t time.Time) bool {
	begin, end := t.ZoneBounds()
	return begin.IsZero() && end.IsZero()
}
