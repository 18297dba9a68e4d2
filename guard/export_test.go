package guard

import "github.com/headrace/headrace/throttle"

// Throttle is the limiter underneath.
func (g *Guard) Throttle() *throttle.Limiter { return g.throttle }
