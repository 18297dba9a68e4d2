package throttle

import "time"

// instant is a point in time as the duration since the limiter was made.
type instant = time.Duration

// meter is the running state of one window: pure, the time is an argument that never steps back.
type meter interface {
	// wait returns how long until n units fit, 0 for now. n is between 1 and the window's Max.
	wait(now instant, n int64) time.Duration
	// take charges n units at now, whether they fit or not.
	take(now instant, n int64)
	// giveBack returns n of the units that were taken at the instant at.
	giveBack(now, at instant, n int64)
	// spent is how many units count against the window now.
	spent(now instant) int64
	// follow takes over the history of a meter that remembers in the same way.
	follow(now instant, old meter) succession
}

// succession is what becomes of a meter's history.
type succession uint8

const (
	unlike     succession = iota // the two remember in different ways
	followed                     // it goes on
	overflowed                   // it goes on, but of what was taken so far nothing can be given back any more
)

// gauge is a window with its meter.
type gauge struct {
	Window
	meter  meter
	bucket *bucketMeter // the meter, if it is one: only buckets give credit
	since  int64        // calls with a Seq up to this were not charged and have nothing to get back
}

// settle gives back less of the units that the call seq took at an instant, or
// charges them if less is negative. It reports whether the meter has changed.
func (g *gauge) settle(now instant, seq int64, taken instant, less int64) bool {
	switch {
	case less > 0 && seq > g.since:
		g.meter.giveBack(now, taken, less)
	case less < 0:
		g.meter.take(now, -less)
	default:
		return false
	}
	return true
}

// frame is what the windows of one limiter have in common.
type frame struct {
	base  time.Time     // the instant 0
	guard time.Duration // by how much two calls may come closer on their way
}

func (f frame) gauge(w Window, since int64) gauge {
	g := gauge{Window: w, since: since}
	switch w.algorithm {
	case slidingLog:
		g.meter = newSlidingMeter(w, f.guard)
	case tokenBucket:
		g.bucket = newBucketMeter(w, f.guard)
		g.meter = g.bucket
	case calendar:
		g.meter = newFixedMeter(w, f.base, f.guard)
	case noAlgorithm: // refused by Validate
	}
	return g
}

// inherit carries the history of the old windows over to g, the i-th of the
// new ones, from the one that resembles it most: of several alike from the one
// that looks back farthest, then from the one in the same place. Without one
// that counts the same unit g begins empty.
func (g *gauge) inherit(now instant, old []gauge, i int) {
	var best *gauge
	score := 0
	for j := range old {
		s := g.likeness(old[j].Window)
		if s > score || s > 0 && s == score && (old[j].per > best.per || old[j].per == best.per && i == j) {
			best, score = &old[j], s
		}
	}
	if best == nil {
		return
	}
	switch g.meter.follow(now, best.meter) {
	case followed:
		g.since = best.since
		return
	case overflowed:
		return
	case unlike:
	}
	if n := min(best.meter.spent(now), g.max); n > 0 {
		g.meter.take(now, n)
	}
}

func (g *gauge) likeness(w Window) int {
	switch {
	case g.unit != w.unit:
		return 0
	case g.algorithm != w.algorithm:
		return 1
	case g.per != w.per, g.algorithm == tokenBucket && g.rate != w.rate && g.max != w.max:
		return 2
	case g.rate != w.rate, g.max != w.max:
		return 3
	default:
		return 4
	}
}
