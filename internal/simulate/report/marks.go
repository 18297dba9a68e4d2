package report

import (
	"fmt"
	"strings"

	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/rival"
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

// reach is what the default law has to reach in many worlds, in percent.
type reach struct {
	p5, p25, least       float64 // of goodput, or of speed; 0: anything
	firstP5, firstMedian float64 // of that of the first minute; 0: anything
	median, p95          float64 // of 429s; 0: anything
}

// Reaches is a reach blind, and one with headers.
type Reaches struct{ blind, headers reach }

func (r Reaches) of(contender string) reach {
	if contender == law.Headers {
		return r.headers
	}
	return r.blind
}

// RandomReach is that among the random providers.
func RandomReach() Reaches {
	return Reaches{
		blind:   reach{p5: 90, least: 25, firstP5: 80, firstMedian: 95, median: 1.2},
		headers: reach{p5: 96, least: 25, firstP5: 80, firstMedian: 95, median: 0.5},
	}
}

// HarsherReach is that among those of the harsher generator.
func HarsherReach() Reaches {
	return Reaches{blind: reach{p5: 60, p25: 88, p95: 9}, headers: reach{p5: 70, p25: 93, p95: 9}}
}

// RecoveryReach is that where any provider has become an ordinary one.
func RecoveryReach() Reaches {
	return Reaches{blind: reach{p5: 90, least: 60}, headers: reach{p5: 95, least: 60}}
}

// BurstsReach is that where items come in bursts.
func BurstsReach() Reaches {
	return Reaches{blind: reach{p5: 45, p25: 80, median: 1.2}, headers: reach{p5: 60, p25: 88, median: 0.5}}
}

// SparseReach is that where many items come after a few.
func SparseReach() Reaches {
	return Reaches{blind: reach{p5: 20, p25: 80}, headers: reach{p5: 30, p25: 86}}
}

// MovingReach is that where limits move.
func MovingReach() Reaches {
	return Reaches{blind: reach{p5: 55, p25: 80}, headers: reach{p5: 65, p25: 88}}
}

// Sweep judges what g, of many providers, comes to.
func (m *Marks) Sweep(target string, g *Grid, r Reaches) {
	for c, contender := range g.Contenders {
		if !asked(contender.Name) {
			continue
		}
		want, s := r.of(contender.Name), spreadOf(g, c)
		m.least(target, contender.Name, g.measure()+" min", s.result(0), want.least)
		m.least(target, contender.Name, g.measure()+" p5", s.result(0.05), want.p5)
		m.least(target, contender.Name, g.measure()+" p25", s.result(0.25), want.p25)
		m.least(target, contender.Name, "first minute p5", s.first(0.05), want.firstP5)
		m.least(target, contender.Name, "first minute median", s.first(0.5), want.firstMedian)
		m.most(target, contender.Name, "429s median", s.refused(0.5), want.median)
		m.most(target, contender.Name, "429s p95", s.refused(0.95), want.p95)
	}
	m.reference(target, g, r)
}

// reference judges those that know the limits by what is asked blind: a target that each of
// them misses is hardly met by a client that has to learn the limits.
func (m *Marks) reference(target string, g *Grid, r Reaches) {
	for c, contender := range g.Contenders {
		if !strings.HasPrefix(contender.Name, rival.KnowsLimits) {
			continue
		}
		want, s := r.blind, spreadOf(g, c)
		m.least(target, contender.Name, g.measure()+" p5", s.result(0.05), want.p5)
		m.most(target, contender.Name, "429s p95", s.refused(0.95), want.p95)
	}
}

// least and most judge by a bar, of which 0 is none.
func (m *Marks) least(target, contender, what string, got, least float64) {
	if least == 0 {
		return
	}
	wrong := ""
	if got < least {
		wrong = fmt.Sprintf("%s %.1f < %g", what, got, least)
	}
	m.add(target+": "+what, contender, wrong)
}

func (m *Marks) most(target, contender, what string, got, most float64) {
	if most == 0 {
		return
	}
	wrong := ""
	if got > most {
		wrong = fmt.Sprintf("%s %.2f > %g", what, got, most)
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
