package adaptive

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/headrace/headrace/internal/learn"
)

// Explain implements Explainer.
func (s *measured) Explain(time.Time) string {
	m := s.machine
	switch m.Bound() {
	case learn.ByCalls:
		return "the learned rate of " + explainPace(&m.Calls, "requests")
	case learn.ByTokens:
		return "the learned rate of " + explainPace(&m.Tokens, "tokens")
	case learn.ByFlight:
		return s.explainFlight()
	case learn.Free, learn.ByGate, learn.ByProbe, learn.ByHeaders:
	}
	return boundNames[m.Bound()]
}

func (s *measured) explainFlight() string {
	f := &s.machine.Flight
	switch next := f.Next(); {
	case float64(s.machine.InFlight()) >= f.Max:
		return fmt.Sprintf("%.0f calls in flight, the most that the controller may use (Max)", f.Max)
	case f.Starting():
		return fmt.Sprintf("a start with %d calls in flight, more until one is rejected", s.machine.InFlight())
	case f.Claimed && !math.IsInf(next, 1):
		return fmt.Sprintf("a cap of %d calls in flight that refusals have shown, tried again in %s", s.machine.InFlight(), rough(next))
	default:
		return fmt.Sprintf("the learned concurrency of %d", s.machine.InFlight())
	}
}

// explainPace describes a pacer: what it lets through and when it tries more.
func explainPace(p *learn.Pacer, unit string) string {
	rate := amount(p.Pace()) + " " + unit + "/s"
	switch next := p.Next(); {
	case p.Hastened():
		return rate + ", rising fast: the headers show quota left"
	case p.Rising() && p.Once():
		return rate + ", rising fast until the second measurement"
	case p.Rising():
		return rate + ", rising fast: the limit has risen"
	case next > 0:
		return rate + ", more is tried in " + rough(next)
	default:
		return rate + ", rising until it is refused"
	}
}

// amount is a number for people to read: three digits, and no exponent.
func amount(x float64) string {
	if x >= 100 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// rough is seconds for people to read.
func rough(seconds float64) string {
	d := duration(seconds)
	if d >= time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}
