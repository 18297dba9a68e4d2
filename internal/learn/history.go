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

// unused is how many tokens were reserved and not used, less those used and not reserved.
func (p *Point) unused() float64 { return p.Ended - p.Used }

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
				return last.since(from, p, &after)
			}
			after = *p
		}
	}
	return last
}

// since is what came between the moment from, which is between the points before and after, and p.
func (p *Point) since(from float64, before, after *Point) Point {
	share := 1.0
	if after.At > before.At {
		share = (from - before.At) / (after.At - before.At)
	}
	return Point{
		Calls:  p.Calls - before.Calls - share*(after.Calls-before.Calls),
		Tokens: p.Tokens - before.Tokens - share*(after.Tokens-before.Tokens),
		Ends:   p.Ends - before.Ends - share*(after.Ends-before.Ends),
		Ended:  p.Ended - before.Ended - share*(after.Ended-before.Ended),
		Used:   p.Used - before.Used - share*(after.Used-before.Used),
	}
}
