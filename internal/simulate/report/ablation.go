package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// aspect is one column of the table of ablations: a figure of each scenario of a set.
type aspect struct {
	name string
	grid *Grid
	of   func(Figures) (goodput, refused float64)
}

// ablations writes what each rule of the default law is worth in each set: the controller
// without it, less the whole law, in the same worlds.
func (p *Plan) ablations(pen *pen) {
	all := slices.Concat(p.contenders(law.All()), p.contenders(law.Ablated()))
	ordinary := slices.Concat(scenario.Twelve(), scenario.Beyond())
	aspects := []aspect{
		{"twelve and beyond", pen.play(p.scenarios(ordinary), all, p.Seeds), measured},
		{"families", pen.playFamilies(p.judged(), all, p.first(), p.Seeds).Grid, measured},
		{"random", pen.play(p.drawn(scenario.Random, p.N), all, 1), measured},
		{"harsher", pen.play(p.drawn(scenario.Harsher, p.Harsher), all, 1), measured},
		{"jobs", pen.playFrom(p.scenarios(scenario.Jobs()), all, p.first(), p.Seeds), worked},
	}
	cold := aspects[0]
	cold.name, cold.of = "cold start", started
	aspects = slices.Insert(aspects, 1, cold)
	if pen.err != nil {
		return
	}
	pen.heading("Ablations", fmt.Sprintf(
		"the controller without one rule, less the whole controller: goodput / 429s in points, means over %d seeds of each scenario with a name, %d random and %d harsher providers from #%d on",
		p.Seeds, p.N, p.Harsher, p.Offset))
	pen.table(ablated(all, aspects))
}

func measured(f Figures) (goodput, refused float64) { return f.Goodput, f.Own }

// worked is how fast a job was done, in percent of the oracle's speed.
func worked(f Figures) (goodput, refused float64) { return 100 / max(1, f.Slower), f.Whole }

func started(f Figures) (goodput, refused float64) { return f.Cold, f.ColdRefused }

// ablated has a line for each contender: the figures of a complete controller, or the differences of one without
// a rule from the complete one that its name begins with.
func ablated(all []client.Contender, aspects []aspect) Table {
	t := Table{Head: []string{"policy"}}
	for i := range aspects {
		t.Head = append(t.Head, aspects[i].name)
	}
	for c := range all {
		whole := slices.IndexFunc(all, func(w client.Contender) bool { return strings.HasPrefix(all[c].Name, w.Name+" -") })
		row := []string{all[c].Name}
		for i := range aspects {
			row = append(row, aspects[i].cell(c, whole))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// cell compares contender c with the contender whole, both by index; a whole below 0 is none.
func (a *aspect) cell(c, whole int) string {
	goodput, refused := a.compared(c, whole)
	if whole < 0 {
		return fmt.Sprintf("%.1f / %.2f", goodput.mean, refused.mean)
	}
	return goodput.String() + " / " + refused.String()
}

// compared are the figures of c less those of whole, in the same worlds.
func (a *aspect) compared(c, whole int) (goodput, refused difference) {
	n := len(a.grid.Contenders)
	for s := range a.grid.Scenarios {
		var goodputs, refusals []float64
		for seed, f := range a.grid.seeds[s*n+c] {
			g, r := a.of(f)
			if whole >= 0 {
				wg, wr := a.of(a.grid.seeds[s*n+whole][seed])
				g, r = g-wg, r-wr
			}
			goodputs, refusals = append(goodputs, g), append(refusals, r)
		}
		goodput, refused = goodput.with(goodputs), refused.with(refusals)
	}
	return goodput.over(len(a.grid.Scenarios)), refused.over(len(a.grid.Scenarios))
}

// difference is the mean of differences of scenarios, and how far chance moves it:
// that of the seeds where each scenario has several, else of which scenarios were drawn.
type difference struct {
	mean, variance float64
	alone          []float64 // of scenarios with one seed
}

func (d difference) with(seeds []float64) difference {
	mean, variance := moments(seeds)
	d.mean += mean
	if d.variance += variance; len(seeds) == 1 {
		d.alone = append(d.alone, mean)
	}
	return d
}

// over is the sum of n scenarios as their mean.
func (d difference) over(n int) difference {
	k := float64(max(1, n))
	if len(d.alone) > 0 {
		_, variance := moments(d.alone)
		return difference{mean: d.mean / k, variance: variance}
	}
	return difference{mean: d.mean / k, variance: d.variance / (k * k)}
}

// sure is how many standard errors from 0 a difference is no noise.
const sure = 2

// String is the mean, in brackets if it is within noise.
func (d difference) String() string {
	text := fmt.Sprintf("%+.2f", d.mean)
	if math.Abs(d.mean) <= sure*math.Sqrt(d.variance) || math.Abs(d.mean) < 0.005 {
		return "(" + text + ")"
	}
	return text
}

// moments returns the mean of all and the variance of that mean.
func moments(all []float64) (mean, variance float64) {
	n := float64(len(all))
	for _, x := range all {
		mean += x / n
	}
	for _, x := range all {
		variance += (x - mean) * (x - mean) / max(1, n-1) / n
	}
	return mean, variance
}
