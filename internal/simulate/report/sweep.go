package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/simulate/scenario"
)

// Randoms returns n random scenarios from offset on.
func Randoms(offset, n int) []scenario.Scenario { return drawn(scenario.Random, offset, n) }

func drawn(draw func(int) scenario.Scenario, offset, n int) []scenario.Scenario {
	all := make([]scenario.Scenario, n)
	for i := range all {
		all[i] = draw(offset + i)
	}
	return all
}

// bursts reports whether items come in bursts to the end, which all clients complete sooner or later.
func (g *Grid) bursts() bool {
	return len(g.Scenarios) > 0 && g.Scenarios[0].Bursts.Items > 0 && g.Scenarios[0].Bursts.Until == 0
}

// measure is what a contender is judged by, besides 429s.
func (g *Grid) measure() string {
	if g.bursts() {
		return "speed"
	}
	return "goodput"
}

// result returns that figure of f.
func (g *Grid) result(f Figures) float64 {
	if g.bursts() {
		return f.Speed
	}
	return f.Goodput
}

// spread is one contender's figures, sorted.
type spread struct{ results, firsts, refusals, jains []float64 }

func spreadOf(g *Grid, c int) (s spread) {
	for i, f := range g.Of(c) {
		s.results = append(s.results, g.result(f))
		s.firsts = append(s.firsts, f.First)
		s.refusals = append(s.refusals, f.Refused)
		if g.Scenarios[i].Shared() {
			s.jains = append(s.jains, f.Jain)
		}
	}
	slices.Sort(s.results)
	slices.Sort(s.firsts)
	slices.Sort(s.refusals)
	slices.Sort(s.jains)
	return s
}

func (s *spread) result(p float64) float64  { return quantile(s.results, p) }
func (s *spread) first(p float64) float64   { return quantile(s.firsts, p) }
func (s *spread) refused(p float64) float64 { return quantile(s.refusals, p) }
func (s *spread) jain(p float64) float64    { return quantile(s.jains, p) }

func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 1
	}
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

// Spread is the table of what many scenarios come to.
func (g *Grid) Spread() Table {
	t := Table{Head: []string{
		"policy", g.measure() + " min", "p5", "p25", "median", "429 % median", "p75", "p95", "max", "Jain p5", "median",
		"first minute p5", "median",
	}}
	for c, contender := range g.Contenders {
		s := spreadOf(g, c)
		row := []string{contender.Name}
		for _, p := range []float64{0, 0.05, 0.25, 0.5} {
			row = append(row, fmt.Sprintf("%.1f", s.result(p)))
		}
		for _, p := range []float64{0.5, 0.75, 0.95, 1} {
			row = append(row, share(s.refused(p)))
		}
		for _, p := range []float64{0.05, 0.5} {
			row = append(row, fmt.Sprintf("%.2f", s.jain(p)))
		}
		for _, p := range []float64{0.05, 0.5} {
			row = append(row, fmt.Sprintf("%.1f", s.first(p)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Worst is the table of the k scenarios with the least goodput, or speed, and of the
// k with the most refusals, for each contender.
func (g *Grid) Worst(k int) Table {
	t := Table{Head: []string{"policy", "worst by", g.measure(), "429 %", "Jain", "scenario", "which is"}}
	for c, contender := range g.Contenders {
		for _, by := range []struct {
			name string
			of   func(Figures) float64
		}{
			{g.measure(), g.result},
			{"429s", func(f Figures) float64 { return -f.Refused }},
		} {
			order := make([]int, len(g.Scenarios))
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(by.of(g.At(a, c)), by.of(g.At(b, c))) })
			for _, s := range order[:min(k, len(order))] {
				f := g.At(s, c)
				t.Rows = append(t.Rows, []string{
					contender.Name, by.name, fmt.Sprintf("%.1f", g.result(f)), share(f.Refused), fmt.Sprintf("%.2f", f.Jain),
					g.Scenarios[s].Name, g.Scenarios[s].About,
				})
			}
		}
	}
	return t
}
