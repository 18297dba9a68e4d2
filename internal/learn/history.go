package learn

// History returns how much had been sent and not refused by a past moment. Its resolution falls with age: each level holds the
// same number of points, twice as far apart as those of the level below. So it takes the same memory for an hour as for
// a second.
type History struct {
	levels [historyLevels]historyLevel
}

const (
	historyLevels = 20   // of resolution, that are kept
	historyPoints = 32   // points that are kept of each
	historyStep   = tiny // seconds between the points of the finest level
)

type historyLevel struct {
	next   int // where the next point goes
	points [historyPoints]Point
}

// Point is what had been sent at a moment, less what was refused.
type Point struct {
	At     float64
	Calls  float64
	Tokens float64
	Ends   float64 // calls that have ended
	Ended  float64 // tokens reserved for them
	Used   float64 // and used by them
}

// Add notes p, which is not older than what was added before.
func (h *History) Add(p Point) {
	step := historyStep
	for i := range h.levels {
		l := &h.levels[i]
		newest := &l.points[(l.next+historyPoints-1)%historyPoints]
		if newest.Calls > 0 && p.At-newest.At < step {
			return // and so for every coarser level
		}
		l.points[l.next] = p
		l.next = (l.next + 1) % historyPoints
		step *= 2
	}
}

// Since is what came between the moment from and last. Between two points it is
// taken to have gone evenly.
func (h *History) Since(from float64, last Point) Point {
	for i := range h.levels {
		l := &h.levels[i]
		after := last
		for k := 1; k <= historyPoints; k++ {
			p := &l.points[(l.next+historyPoints-k)%historyPoints]
			if p.Calls == 0 {
				if i == historyLevels-1 || k == 1 || l.points[l.next].Calls == 0 {
					return last // all there ever was
				}
				break
			}
			if p.At <= from {
				share := 1.0
				if after.At > p.At {
					share = (from - p.At) / (after.At - p.At)
				}
				return Point{
					Calls:  last.Calls - p.Calls - share*(after.Calls-p.Calls),
					Tokens: last.Tokens - p.Tokens - share*(after.Tokens-p.Tokens),
					Ends:   last.Ends - p.Ends - share*(after.Ends-p.Ends),
					Ended:  last.Ended - p.Ended - share*(after.Ended-p.Ended),
					Used:   last.Used - p.Used - share*(after.Used-p.Used),
				}
			}
			after = *p
		}
	}
	return last
}
