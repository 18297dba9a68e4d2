package guard

import (
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/throttle"
)

// Stats is a snapshot of a guard. Counts run since New or Reset.
type Stats struct {
	throttle.Stats

	Limits  throttle.Limits      // in force
	Windows []throttle.WindowUse // in the order of Limits
	View    adaptive.View        // of the learner
	Why     string               // what it does and what holds it back, in a sentence

	StoreErrors int64 // failed ends of calls, renewals and cooldowns in Policy.Store
	Degraded    error // why the last call was admitted without Policy.Store, see quota.Fallback; nil: it was asked
}

// Stats returns a snapshot; for Join, of its first guard.
func (g *Guard) Stats() Stats {
	l := g
	if l.throttle == nil {
		if len(g.layers) == 0 {
			return Stats{}
		}
		l = g.layers[0]
	}
	s := Stats{Stats: l.throttle.Stats(), Limits: l.throttle.Limits(), Windows: l.throttle.Windows()}
	if g.learner != nil {
		s.View = g.learner.view()
	}
	l.loose.addTo(&s.Stats)
	if l.share != nil {
		l.share.addTo(&s)
		s.Bound = l.holding(s.Bound, throttle.Cost{})
	}
	s.Why = l.explain(&s)
	return s
}

func (g *Guard) view() (v adaptive.View) {
	g.look(func(time.Time) { v = g.governor.view() })
	return v
}

// explain says in one sentence what the guard does and what holds it back.
func (g *Guard) explain(s *Stats) string {
	doing := fmt.Sprintf("%d in flight", s.InFlight)
	if most := narrower(s.View.Concurrency, s.Limits.Concurrency); most > 0 {
		doing += fmt.Sprintf(" of %d", most)
	}
	doing += fmt.Sprintf(", %d waiting", s.Waiting)
	if g.remote != nil {
		doing += " (" + g.remote.Standing() + ")"
	}
	if g.lawFailed() {
		doing += " (" + g.outOfUse() + ")"
	}
	now := g.clock.Now()
	look, doubts := g.nextLook(now)
	if doubts {
		doing += " (long waits that the provider asks for are not trusted)"
	}
	if s.Degraded != nil {
		doing += " (without the store: " + s.Degraded.Error() + ")"
	}
	switch {
	case s.Closed != nil:
		return doing + ": closed, " + closedBy(s.Closed) + look
	case s.PausedUntil.After(now):
		return doing + ": paused for another " + readable(s.PausedUntil.Sub(now)).String()
	case look != "":
		return doing + ": closed by the provider" + look
	case s.View.GateUntil.After(now):
		return doing + ": the pause ends in " + readable(s.View.GateUntil.Sub(now)).String()
	case s.Waiting == 0:
		return doing + ": nothing holds it back"
	case s.Bound.Kind == throttle.NotBound: // between the end of its wait and its admission
		return doing + ": the next call is about to be admitted"
	case s.Bound.Kind == throttle.BoundByOther:
		return doing + ": held back by " + g.outside(s.Bound)
	}
	if why := g.explained(now); s.Bound.Kind == throttle.BoundByGovernor && why != "" {
		return doing + ": held back by " + why
	}
	return doing + ": held back by " + rounded(s.Bound).String()
}

// closedBy is why a guard is closed: that of a provider in short, without the request that was refused.
func closedBy(err error) string {
	if errors.Is(err, adaptive.ErrQuotaExhausted) {
		return "the provider reports a used-up quota"
	}
	if hit, ok := errors.AsType[*adaptive.RateLimitHit](err); ok && hit.RetryAfter > 0 {
		if hit.RetryAfter >= reopening.MostSaid {
			return "the provider asks to wait for at least " + hit.RetryAfter.String()
		}
		return "the provider asks to wait for " + reopening.Asked(hit.RetryAfter)
	}
	return err.Error()
}

// readable is d without the milliseconds of a long time.
func readable(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}

// nextLook says when a call looks at a key that the provider has closed; empty: it is open.
// doubts reports whether long waits are not believed.
func (g *Guard) nextLook(now time.Time) (text string, doubts bool) {
	if g.governor == nil {
		return "", false
	}
	g.look(func(time.Time) {
		c := &g.governor.closed
		doubts = c.Doubts(now)
		switch wait := c.Until().Sub(now); {
		case !c.Closed():
		case c.Looking(now) > 0:
			text = "; one call probes it now"
		case wait > 0:
			text = "; one call probes it in " + wait.Round(time.Second).String()
		default:
			text = "; the next call probes it"
		}
	})
	return text, doubts
}

// outside names what holds calls back that this guard would admit, if it is
// within it. For calls that Join combines it is other.
func (g *Guard) outside(other throttle.Bound) string {
	for _, l := range g.layers {
		b := l.throttle.Bound(throttle.Cost{})
		if l != g && b.Kind != throttle.NotBound && b.Kind != throttle.BoundByOther {
			return fmt.Sprintf("%s of %q", rounded(l.holding(b, throttle.Cost{})), l.name)
		}
	}
	return rounded(other).String()
}

// lawFailed reports whether the controller has panicked.
func (g *Guard) lawFailed() (yes bool) {
	if g.governor != nil {
		g.look(func(time.Time) { yes = g.governor.failed != nil })
	}
	return yes
}

// explained returns the controller's explanation.
func (g *Guard) explained(now time.Time) (why string) {
	if g.governor == nil {
		return ""
	}
	g.look(func(time.Time) { why = g.governor.explain(now) })
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
