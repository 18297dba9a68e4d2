package rival

import "time"

// gradient2 is Gradient2Limit of Netflix concurrency-limits inside its
// WindowedLimit, one second and at least ten samples; it may fall to 1.
type gradient2 struct {
	size  float64
	long  float64 // seconds, the latency over many windows
	longN int

	until time.Duration // the window ends at the first sample after it
	sum   time.Duration
	count int
	peak  int // in flight
}

const (
	gradientWindow  = time.Second
	gradientSamples = 10
	gradientWarmUp  = 10  // windows until the average is exponential
	gradientLong    = 600 // windows that it then reaches back
	gradientQueue   = 4
)

func (g *gradient2) most() int { return int(g.size) }

func (g *gradient2) sample(now, took time.Duration, inFlight int, _ bool) {
	g.sum += took
	g.count++
	g.peak = max(g.peak, inFlight)
	if now <= g.until {
		return
	}
	count, short, peak := g.count, g.sum.Seconds()/float64(g.count), g.peak
	g.count, g.sum, g.peak = 0, 0, 0
	g.until = now + gradientWindow
	if count < gradientSamples {
		return
	}
	g.remember(short)
	if float64(peak) < g.size/2 {
		return
	}
	gradient := max(0.5, min(1, 1.5*g.long/short))
	target := g.size*gradient + gradientQueue
	g.size = min(mostWorkers, max(1, 0.8*g.size+0.2*target))
}

func (g *gradient2) remember(short float64) {
	if g.longN < gradientWarmUp {
		g.longN++
		g.long += (short - g.long) / float64(g.longN)
	} else {
		g.long += (short - g.long) * 2 / (gradientLong + 1)
	}
	if g.long > 2*short {
		g.long *= 0.95
	}
}
