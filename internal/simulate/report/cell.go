package report

import "fmt"

// share prints a percentage of refusals; above ten without a fraction.
func share(percent float64) string {
	if percent >= 10 {
		return fmt.Sprintf("%.0f", percent)
	}
	return fmt.Sprintf("%.2f", percent)
}

// Measured is the table of g after the warm-up: goodput in percent of the
// oracle, 429s in percent of the attempts without those at random, with them
// in round brackets if there were any, and fairness in square brackets. Cells
// that miss a bar are marked.
func (g *Grid) Measured(bar Bar) Table {
	return g.table(bar, func(s int, f Figures) string {
		cell := fmt.Sprintf("%.1f / %s", f.Goodput, share(f.Own))
		if len(g.Scenarios[s].Provider.Errors) > 0 {
			cell += fmt.Sprintf(" (%s)", share(f.Refused))
		}
		if g.Scenarios[s].Shared() {
			cell += fmt.Sprintf(" [%.2f]", f.Jain)
		}
		return cell
	})
}

// Cold is the table of g during the warm-up.
func (g *Grid) Cold(bar Bar) Table {
	return g.table(bar, func(_ int, f Figures) string {
		return fmt.Sprintf("%.1f / %s", f.Cold, share(f.ColdRefused))
	})
}

// First is the table of g in the first minute.
func (g *Grid) First(bar Bar) Table {
	return g.table(bar, func(_ int, f Figures) string {
		return fmt.Sprintf("%.1f / %s", f.First, share(f.FirstRefused))
	})
}

// miss marks a cell that misses its bar.
const miss = " !"

func (g *Grid) table(bar Bar, cell func(s int, f Figures) string) Table {
	t := Table{Head: []string{"scenario"}}
	for _, c := range g.Contenders {
		t.Head = append(t.Head, c.Name)
	}
	for s := range g.Scenarios {
		row := []string{g.Scenarios[s].Name}
		for c := range g.Contenders {
			f := g.At(s, c)
			text := cell(s, f)
			if bar != nil && bar(&g.Scenarios[s], g.Contenders[c].Name, f) != "" {
				text += miss
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
