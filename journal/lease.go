package journal

import "time"

// Lease is the claim of an Owner to a Part. The zero Lease has no owner.
type Lease struct {
	Owner   Owner
	Since   time.Time // when the owner opened the Part
	Renewed time.Time // the last time that it opened or renewed it
}

// Excludes reports whether l prevents o from opening the Part at now. It does not if it is o's own, if
// the process of its owner has ended, or if its last renewal is longer than within ago (0: it never
// lapses), or that far in the future because a clock was changed.
func (l Lease) Excludes(o Owner, now time.Time, within time.Duration) bool {
	if l.Owner.ID == "" || l.Owner.ID == o.ID || l.Owner.gone() {
		return false
	}
	return within == 0 || now.Sub(l.Renewed).Abs() < within
}

// Refuse returns the error for an owner that l excludes.
func (l Lease) Refuse(p Part, within time.Duration) *HeldError {
	e := &HeldError{Part: p, Lease: l}
	if within > 0 {
		e.Lapses = l.Renewed.Add(within)
	}
	return e
}
