package learn

import "math"

// Repeats counts refusals in a row, one for each epoch, at one level of calls in flight, at which hardly any call is taken: a cap may
// be what refuses. Between two of them only a few slow calls are taken, so all that were taken since the first one count.
type Repeats struct {
	level  float64
	count  float64
	counts LevelCounts // calls taken since the first of these
	taken  float64     // how many that were at the last one
}

// Taken notes that a call was taken that left with so many others in flight.
func (p *Repeats) Taken(others int) { p.counts.Add(others) }

// Refused notes the first refusal of an epoch. asks is whether it asks for a wait, which a cap does not.
func (p *Repeats) Refused(level int, asks bool) {
	n := float64(level)
	taken, at := p.counts.Count(level)
	near := math.Abs(n-p.level) <= max(1, sameLevel*p.level)
	switch capLike := !asks && n >= 2 && at <= rare*taken; {
	case !capLike:
		p.count = 0
	case near:
		p.count++
	default:
		p.count = 1
	}
	p.level, p.taken = n, taken
	if p.count <= 1 {
		p.counts = LevelCounts{}
	}
}

// Show reports whether there are enough to be taken for a cap.
func (p *Repeats) Show() bool { return p.count >= enough && p.taken >= recent }

// Forget drops them.
func (p *Repeats) Forget() { p.count = 0 }
