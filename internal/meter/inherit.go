package meter

// Inherit carries the history of the old windows over to g, the i-th of the
// new ones, from the one that resembles it most: of several alike from the one
// that looks back farthest, then from the one in the same place. If none of
// them counts the same unit, g stays empty.
func (g *Gauge) Inherit(now Instant, old []Gauge, i int) {
	var best *Gauge
	score := 0
	for j := range old {
		s := g.likeness(&old[j].Window)
		if s > score || s > 0 && s == score && (old[j].Per > best.Per || old[j].Per == best.Per && i == j) {
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
	if n := min(best.meter.spent(now), g.Max); n > 0 {
		g.meter.Take(now, n)
	}
}

func (g *Gauge) likeness(w *Window) int {
	switch {
	case g.Unit != w.Unit:
		return 0
	case g.Kind != w.Kind:
		return 1
	case g.Per != w.Per, g.Kind == TokenBucket && g.Rate != w.Rate && g.Max != w.Max:
		return 2
	case g.Rate != w.Rate, g.Max != w.Max:
		return 3
	default:
		return 4
	}
}
