package group

import (
	"time"

	"github.com/headrace/headrace/event"
)

// decides reports whether events of kind are decisions about a key, which concern all members.
func decides(kind event.Kind) bool {
	switch kind { //nolint:exhaustive // the others are of one call or process
	case event.LimiterCut, event.LimiterRecovery, event.LimiterGate, event.LimiterProbe, event.LimiterVerdict,
		event.LimiterClosed, event.LimiterReopened, event.LimiterChanged:
		return true
	}
	return false
}

// decision is the data of kindEvent.
type decision struct {
	Kind   event.Kind    `json:"kind"`
	Age    time.Duration `json:"age,omitempty"`
	From   float64       `json:"from,omitempty"`
	To     float64       `json:"to,omitempty"`
	Wait   time.Duration `json:"wait,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Err    string        `json:"err,omitempty"`
}

func decisionOf(e *event.Event) decision {
	d := decision{Kind: e.Kind, Age: time.Since(e.Time), From: e.From, To: e.To, Wait: e.Wait, Reason: bounded(e.Reason)}
	if e.Err != nil {
		d.Err = bounded(textOf(e.Err))
	}
	return d
}

// event is what the observers of a member receive; false if that is nothing.
func (d *decision) event() (e event.Event, ok bool) {
	if !decides(d.Kind) {
		return e, false
	}
	e = event.Event{
		Time: time.Now().Add(-min(max(0, d.Age), longestCall)), Kind: d.Kind, Index: event.NoIndex, From: d.From, To: d.To, Wait: max(0, d.Wait), Reason: bounded(d.Reason),
	}
	if d.Err != "" {
		e.Err = remoteError(bounded(d.Err))
	}
	return e, true
}

func bounded(s string) string { return s[:min(len(s), mostText)] }
