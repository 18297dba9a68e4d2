package presets

import (
	"math"
	"time"

	"github.com/headrace/headrace/throttle"
)

// longestPace separates rates from quotas: what is counted over a longer time
// says how much, not how fast.
const longestPace = time.Hour

// Prior returns the limits that a law can start with: the concurrency, and the
// windows of at most an hour. As a pace, a quota of 20 a day would be one call
// in 72 minutes; when it is used up the provider says so.
func (p Profile) Prior() throttle.Limits {
	prior := throttle.Limits{Concurrency: p.Limits.Concurrency}
	for _, w := range p.Limits.Windows {
		if period(w) <= longestPace {
			prior.Windows = append(prior.Windows, w)
		}
	}
	return prior
}

// Concurrency returns how many calls have to be in flight to use the request
// rate up, if each takes latency: rate x latency, which is Little's law, rounded
// up, at least 1, and no more than the profile's own concurrency. The rate is the
// lowest of Prior. A profile without one gives its own concurrency, where 0 is
// unbounded.
func (p Profile) Concurrency(latency time.Duration) int {
	rate := math.Inf(1)
	for _, w := range p.Prior().Windows {
		if w.Unit() == throttle.Requests {
			rate = min(rate, w.Rate())
		}
	}
	most := p.Limits.Concurrency
	if math.IsInf(rate, 1) {
		return most
	}
	// A hair below, so that 100/s x 50 ms is 5 and not 6.
	n := math.Ceil(rate * max(0, latency.Seconds()) * (1 - 0x1p-50))
	if most == 0 {
		most = math.MaxInt32
	}
	return int(min(max(n, 1), float64(most)))
}

// period is how long a window of w's rate takes to let its Max through.
func period(w throttle.Window) time.Duration {
	return time.Duration(math.Round(float64(w.Max())/w.Rate()*1e3)) * time.Millisecond
}
