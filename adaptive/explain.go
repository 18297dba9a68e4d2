package adaptive

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/throttle"
)

// Explain says in one sentence what the limiter does and what holds it back.
func (l *Limiter) Explain() string {
	s, v := l.throttle.Stats(), l.View()
	doing := fmt.Sprintf("%d in flight", s.InFlight)
	if most := narrower(v.Concurrency, l.throttle.Limits().Concurrency); most > 0 {
		doing += fmt.Sprintf(" of %d", most)
	}
	doing += fmt.Sprintf(", %d waiting", s.Waiting)
	now := l.clock.Now()
	switch {
	case s.Closed != nil:
		return doing + ": closed, " + s.Closed.Error()
	case s.PausedUntil.After(now):
		return doing + ": paused for another " + s.PausedUntil.Sub(now).Round(time.Millisecond).String()
	case v.GateUntil.After(now):
		return doing + ": the gate opens in " + v.GateUntil.Sub(now).Round(time.Millisecond).String()
	case s.Waiting == 0, s.Bound.Kind == throttle.NotBound:
		return doing + ": nothing holds it back"
	case s.Bound.Kind == throttle.BoundByGovernor && l.explained(now) != "":
		return doing + ": held back by " + l.explained(now)
	default:
		return doing + ": held back by " + rounded(s.Bound).String()
	}
}

// explained is what the law says for itself.
func (l *Limiter) explained(now time.Time) (why string) {
	l.throttle.Look(func(time.Time) {
		why = l.governor.View().Bound
		if x, ok := l.governor.State.(Explainer); ok {
			why = x.Explain(now)
		}
	})
	return why
}

// rounded is b with a wait for people to read, never shorter than it is.
func rounded(b throttle.Bound) throttle.Bound {
	if b.Wait < throttle.Forever-time.Millisecond {
		b.Wait = (b.Wait + time.Millisecond - 1).Truncate(time.Millisecond)
	}
	return b
}

// narrower is the smaller of two bounds, of which 0 means none.
func narrower(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
