package report

import (
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// ablations writes one line for the default law and for each of its rules
// left out. A rule without which no figure falls is not worth its place.
func (p *Plan) ablations(pen *pen) {
	all := p.contenders(slices.Concat(law.All(), law.Ablated()))
	twelve := pen.play(p.scenarios(scenario.Twelve()), all, p.Seeds)
	beyond := pen.play(p.scenarios(scenario.Beyond()), all, p.Seeds)
	sweep := pen.play(p.sweeping(), all, 1)
	f := pen.playFamilies(p.judged(), all, p.first(), p.Seeds)
	harsher := pen.play(p.harshly(), all, 1)
	if pen.err != nil {
		return
	}
	pen.heading("Ablations", fmt.Sprintf(
		"least goodput and most 429s; %d random providers and %d harsher ones from #%d on", p.N, p.Harsher, p.Offset))
	pen.table(summary(all, twelve, beyond, sweep, &f, harsher))
}

func summary(all []client.Contender, twelve, beyond, sweep *Grid, f *families, harsher *Grid) Table {
	t := Table{Head: []string{
		"policy", "twelve: mean", "least", "429 %", "cold least", "beyond: mean", "least", "429 %",
		"random: min", "p5", "median", "429 % median", "p95",
		"families: mean of medians", "worst", "429 %", "harsher: p5", "p25", "median", "429 % p95",
	}}
	for c, contender := range all {
		s := spreadOf(sweep, c)
		row := append([]string{contender.Name}, extremes(twelve.Of(c))...)
		row = append(row, coldest(twelve.Of(c)))
		row = append(row, extremes(beyond.Of(c))...)
		for _, q := range []float64{0, 0.05, 0.5} {
			row = append(row, fmt.Sprintf("%.1f", s.goodput(q)))
		}
		row = append(row, share(s.refused(0.5)), share(s.refused(0.95)))
		v := together(f.verdicts("", c))
		row = append(row, fmt.Sprintf("%.1f", v.Median), fmt.Sprintf("%.1f", v.Worst), share(v.Own))
		h := spreadOf(harsher, c)
		for _, q := range []float64{0.05, 0.25, 0.5} {
			row = append(row, fmt.Sprintf("%.1f", h.goodput(q)))
		}
		t.Rows = append(t.Rows, append(row, share(h.refused(0.95))))
	}
	return t
}

func extremes(all []Figures) []string {
	m := mean(all)
	least, most := m.Goodput, m.Own
	for _, f := range all {
		least, most = min(least, f.Goodput), max(most, f.Own)
	}
	return []string{fmt.Sprintf("%.1f", m.Goodput), fmt.Sprintf("%.1f", least), share(most)}
}

func coldest(all []Figures) string {
	least := mean(all).Cold
	for _, f := range all {
		least = min(least, f.Cold)
	}
	return fmt.Sprintf("%.1f", least)
}
