package guard

import (
	"context"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// Throttle is the limiter underneath.
func (g *Guard) Throttle() *throttle.Limiter { return g.throttle }

// Learn reports to the controller of a call that was sent at sentAt and did not pass g.
func (g *Guard) Learn(sentAt time.Time, f adaptive.Feedback) {
	var r result
	g.learn(&r, &throttle.Sent{At: sentAt}, &f, g.observer != nil)
	g.emitResult(&attempt{Context: context.Background(), call: &Call{guard: g}}, &r, &f)
}

// Reconsiders is a call that finds, after it was counted as one without
// admission, that calls need admission by now.
func (g *Guard) Reconsiders(meanwhile func()) {
	g.loose.started.Add(1)
	meanwhile()
	g.unbegun()
}

// Classify is what g makes of err.
func (g *Guard) Classify(err error) adaptive.Feedback { return adaptive.Classify(g.detect, err) }

// Prelude is what went before a law.
type Prelude struct{ prelude }

// Note notes a call.
func (p *Prelude) Note(s throttle.Sent) { p.note(s) }

// Until returns what is remembered.
func (p *Prelude) Until(last throttle.Sent) []throttle.Sent { return p.until(last) }
