package report

import (
	"fmt"

	"github.com/headrace/headrace/internal/simulate/law"
)

// Marks collects targets, met and missed.
type Marks struct{ rows [][]string }

// Grid judges every cell of g by bar, one line for each contender that is asked.
func (m *Marks) Grid(target string, g *Grid, bar Bar) {
	for c, contender := range g.Contenders {
		if !asked(contender.Name) {
			continue
		}
		var missed []string
		for s := range g.Scenarios {
			if wrong := bar(&g.Scenarios[s], contender.Name, g.At(s, c)); wrong != "" {
				missed = append(missed, g.Scenarios[s].Name+": "+wrong)
			}
		}
		if len(missed) == 0 {
			m.add(target, contender.Name, "")
		}
		for _, wrong := range missed {
			m.add(target, contender.Name, wrong)
		}
	}
}

// What the default law has to reach among random providers, in percent.
const (
	sweepHeadersP5, sweepHeadersRefused = 94, 0.5
	sweepBlindP5, sweepBlindRefused     = 90, 1.2
	sweepLeast                          = 25
)

// Sweep judges what g, of random providers, comes to.
func (m *Marks) Sweep(target string, g *Grid) {
	for c, contender := range g.Contenders {
		p5, refused := float64(sweepBlindP5), sweepBlindRefused
		switch contender.Name {
		case law.Headers:
			p5, refused = sweepHeadersP5, sweepHeadersRefused
		case law.Blind:
		default:
			continue
		}
		s := spreadOf(g, c)
		m.least(target, contender.Name, "goodput p5", s.goodput(0.05), p5)
		m.least(target, contender.Name, "goodput min", s.goodput(0), sweepLeast)
		wrong := ""
		if got := s.refused(0.5); got > refused {
			wrong = fmt.Sprintf("429s median %.2f > %g", got, refused)
		}
		m.add(target, contender.Name, wrong)
	}
}

func (m *Marks) least(target, contender, what string, got, least float64) {
	wrong := ""
	if got < least {
		wrong = fmt.Sprintf("%s %.1f < %g", what, got, least)
	}
	m.add(target+": "+what, contender, wrong)
}

func (m *Marks) add(target, contender, wrong string) {
	mark := "met"
	if wrong != "" {
		mark = "missed"
	}
	m.rows = append(m.rows, []string{target, contender, mark, wrong})
}

// Table is all of them.
func (m *Marks) Table() Table {
	return Table{Head: []string{"target", "contender", "", "where"}, Rows: m.rows}
}
