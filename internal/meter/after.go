package meter

import "time"

// After returns a lower bound on how long it takes until n units have been
// taken, of which more than Max cannot be taken at once.
func (g *Gauge) After(now time.Duration, n int64) time.Duration {
	if n <= g.Max {
		return g.Wait(now, n)
	}
	switch full := (n - 1) / g.Max; g.Kind {
	case TokenBucket:
		return atMost(g.Wait(now, g.Max), float64(n-g.Max)/g.Rate*float64(time.Second))
	case SlidingWindow:
		return atMost(g.Wait(now, n-full*g.Max), float64(full)*float64(g.Per))
	case CalendarWindow: // a day may be an hour shorter
		return atMost(g.Wait(now, g.Max), float64(full-1)*float64(max(0, g.Per-time.Hour)))
	default:
		return 0
	}
}

// atMost is the sum of both, within what a time.Duration holds.
func atMost(wait time.Duration, more float64) time.Duration {
	return wait + time.Duration(min(more, float64(LongestFill)))
}
