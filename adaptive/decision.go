package adaptive

import (
	"iter"
	"time"

	"github.com/headrace/headrace/event"
)

// Decision is one thing that a law decided. Observers of the guard receive it as an event.
type Decision struct {
	Seq      int64         // counts the decisions of a state, from 1
	At       time.Time     // when
	Kind     event.Kind    // LimiterCut, LimiterRecovery, LimiterGate, LimiterProbe or LimiterVerdict
	From, To float64       // the value that was changed; the Reason says which, if it is not the concurrency
	Wait     time.Duration // how long until calls may go on; of a probe, how long nobody else goes
	Reason   string        // one sentence for people, empty: see the answer that led to it
}

// Decisions are the last few of a law, without a log that could grow.
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

// Since yields those after the decision n, as far back as they are remembered.
func (d *Decisions) Since(n int64) iter.Seq[Decision] {
	return func(yield func(Decision) bool) {
		for n = max(n, d.Count-int64(len(d.last))) + 1; n <= d.Count; n++ {
			if !yield(d.last[n%int64(len(d.last))]) {
				return
			}
		}
	}
}
