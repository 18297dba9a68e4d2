package presets

import (
	"math"
	"time"

	"github.com/headrace/headrace/throttle"
)

// longestPace separates rates from quotas: what is counted over a longer time
// says how much, not how fast.
const longestPace = time.Hour

// Prior returns the limits that adaptive.Measured.Prior can start from: the
// concurrency, and the windows of at most an hour. Longer ones are quotas: 20
// requests a day are not a rate of one in 72 minutes.
func (p Profile) Prior() throttle.Limits {
	prior := throttle.Limits{Concurrency: p.Limits.Concurrency}
	for _, w := range p.Limits.Windows {
		if period(w) <= longestPace {
			prior.Windows = append(prior.Windows, w)
		}
	}
	return prior
}

// period is how long a window of w's rate takes to let its Max through.
func period(w throttle.Window) time.Duration {
	return time.Duration(math.Round(float64(w.Max())/w.Rate()*1e3)) * time.Millisecond
}
