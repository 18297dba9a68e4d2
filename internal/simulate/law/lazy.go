package law

import (
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/throttle"
)

// lazy is one process as a guard.Guard without limits drives it: until the first
// rejection nothing but the number of its workers holds calls back, and then the controller
// begins with what was sent so far.
type lazy struct {
	driver // its State is nil before the first rejection

	law  adaptive.Measured
	seat client.Seat
	sent []throttle.Sent
}

// Admit implements client.Policy.
func (l *lazy) Admit(now time.Duration, c *client.Call, inFlight int) time.Duration {
	if l.State == nil {
		return 0
	}
	return l.driver.Admit(now, c, inFlight)
}

// Slack implements client.Policy.
func (l *lazy) Slack(now time.Duration) {
	if l.State != nil {
		l.driver.Slack(now)
	}
}

// Sent implements client.Policy.
func (l *lazy) Sent(now time.Duration, c *client.Call) {
	if l.State == nil {
		l.sent = append(l.sent, l.driver.sent(c))
		return
	}
	l.driver.Sent(now, c)
}

// Answered implements client.Policy.
func (l *lazy) Answered(now time.Duration, c *client.Call, inFlight int, a *provider.Answer) (backoff time.Duration, keep bool) {
	if l.State == nil {
		switch l.feedback(c, a).Verdict {
		case adaptive.Hit, adaptive.Overloaded:
			l.start(inFlight + 1)
		case adaptive.Transient:
			return l.delay(c.Refusals), true
		default:
			return 0, false
		}
	}
	return l.driver.Answered(now, c, inFlight, a)
}

// Gauge implements client.Gauged: nothing before the controller has started.
func (l *lazy) Gauge() client.Gauge {
	if l.State == nil {
		return client.Gauge{}
	}
	return l.driver.Gauge()
}

// start starts the controller when so many calls are out.
func (l *lazy) start(inFlight int) {
	law := l.law.WithDefaults()
	law.Max, law.Initial = max(law.Max, inFlight), max(law.Initial, inFlight)
	state, err := law.Start(l.sent[0].At, l.seat.Seed)
	if err != nil {
		return // never: the controller is valid, as before
	}
	l.State = state
	for _, s := range l.sent {
		state.(interface{ Before(s throttle.Sent) }).Before(s) //nolint:forcetypeassert // it is that of Measured
	}
	l.sent = nil
}
