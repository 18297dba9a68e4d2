package adaptive

import (
	"iter"
	"time"

	"github.com/headrace/headrace/event"
)

// Decision is one decision of a law. Observers receive it as an event.
type Decision struct {
	Seq      int64 // from 1
	At       time.Time
	Kind     event.Kind    // LimiterCut, LimiterRecovery, LimiterGate, LimiterProbe or LimiterVerdict
	From, To float64       // the concurrency, or what Reason names
	Wait     time.Duration // until calls are admitted again
	Reason   string        // one sentence; may be empty
}

// Decisions are the most recent decisions of a law.
type Decisions struct {
	Count int64 // all there ever were
	last  [8]Decision
}

// add notes a decision; its number is filled in.
func (d *Decisions) add(x Decision) {
	d.Count++
	x.Seq = d.Count
	d.last[d.Count%int64(len(d.last))] = x
}

// Since yields the decisions after number n, as far back as they are kept.
func (d *Decisions) Since(n int64) iter.Seq[Decision] {
	return func(yield func(Decision) bool) {
		for n = max(n, d.Count-int64(len(d.last))) + 1; n <= d.Count; n++ {
			if !yield(d.last[n%int64(len(d.last))]) {
				return
			}
		}
	}
}
