// Package decisions keeps the last decisions of a law until the guard has emitted
// them as events.
package decisions

import (
	"iter"
	"time"
)

// Decision is one decision of a law.
type Decision struct {
	At       time.Time
	Kind     string        // an event.Kind: LimiterCut, LimiterRecovery, LimiterGate, LimiterProbe or LimiterVerdict
	From, To float64       // the concurrency, or what Reason names
	Wait     time.Duration // until calls are admitted again
	Reason   string        // one sentence; may be empty
}

// Log has the most recent decisions of a law.
type Log struct {
	Count int64 // all there ever were
	last  [8]Decision
}

// Add notes a decision.
func (l *Log) Add(d Decision) {
	l.Count++
	l.last[l.Count%int64(len(l.last))] = d
}

// Since yields the decisions after number n, as far back as they are kept.
func (l *Log) Since(n int64) iter.Seq[Decision] {
	return func(yield func(Decision) bool) {
		for n = max(n, l.Count-int64(len(l.last))) + 1; n <= l.Count; n++ {
			if !yield(l.last[n%int64(len(l.last))]) {
				return
			}
		}
	}
}
