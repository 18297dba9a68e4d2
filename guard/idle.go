package guard

import (
	"slices"
	"time"

	"github.com/headrace/headrace/internal/hook"
	"github.com/headrace/headrace/throttle"
)

// shown is what packages registry and group and the transport use of a Guard besides
// its public methods, through package hook.
type shown struct{ g *Guard }

// Idle reports whether another guard in the place of this one would admit the
// same calls: nothing is in flight or waits, and nothing that was counted or
// reported holds a call back. It is never called on a Join.
func (i shown) Idle() bool {
	g, s := i.g, i.g.Stats()
	now := g.clock.Now()
	if s.InFlight > 0 || s.Waiting > 0 || s.Closed != nil || s.PausedUntil.After(now) || s.View.GateUntil.After(now) ||
		slices.ContainsFunc(s.Windows, func(w throttle.WindowUse) bool { return w.Spent > 0 }) {
		return false
	}
	if b := g.breaker; b != nil && !hook.Open[interface{ Idle() bool }](b).Idle() {
		return false
	}
	return g.governor == nil || !g.looksLater(now)
}

// OnSet has f called after each Set. Call it before the guard is used.
func (i shown) OnSet(f func()) { i.g.onSet = f }

// looksLater reports whether the next call is to look at a key that was closed.
func (g *Guard) looksLater(now time.Time) bool {
	g.engine.Lock()
	defer g.engine.Unlock()
	return g.governor.closed.Known(now)
}

func init() { //nolint:gochecknoinits // see package hook
	hook.Register(func(g *Guard) any { return shown{g} })
}
