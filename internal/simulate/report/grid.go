package report

import (
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/rival"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// Grid is every contender in every scenario.
type Grid struct {
	Scenarios  []scenario.Scenario
	Contenders []client.Contender
	cells      []Figures   // by scenario, then contender; means
	seeds      [][]Figures // the same, of each seed
}

// Play plays seeds worlds, from seed 1 on, of each scenario with each
// contender and with the oracle.
func Play(scenarios []scenario.Scenario, contenders []client.Contender, seeds int) (*Grid, error) {
	return PlayFrom(scenarios, contenders, 1, seeds)
}

// PlayFrom is Play from seed first on.
func PlayFrom(scenarios []scenario.Scenario, contenders []client.Contender, first uint64, seeds int) (*Grid, error) {
	g := &Grid{Scenarios: scenarios, Contenders: contenders}
	g.cells = make([]Figures, len(scenarios)*len(contenders))
	g.seeds = make([][]Figures, len(g.cells))
	worlds := make([][]Figures, len(scenarios)*seeds) // by contender
	problems := make([]error, len(worlds))
	parallel(len(worlds), func(i int) {
		s := &scenarios[i/seeds]
		worlds[i], problems[i] = play(s, contenders, first+uint64(i%seeds)) //nolint:gosec // not negative
	})
	for i := range g.cells {
		s, c := i/len(contenders), i%len(contenders)
		var all []Figures
		for _, w := range worlds[s*seeds : (s+1)*seeds] {
			if c < len(w) {
				all = append(all, w[c])
			}
		}
		g.cells[i], g.seeds[i] = mean(all), all
	}
	return g, errors.Join(problems...)
}

// play plays one seed of one scenario with all contenders.
func play(s *scenario.Scenario, contenders []client.Contender, seed uint64) ([]Figures, error) {
	best, err := client.Run(s.Setting, rival.Oracle(), seed, client.Watch{})
	if err != nil {
		return nil, err
	}
	all := make([]Figures, len(contenders))
	for i, c := range contenders {
		run, err := client.Run(s.Setting, c, seed, client.Watch{})
		if err != nil {
			return nil, fmt.Errorf("report: %s: %w", s.Name, err)
		}
		all[i] = figures(run, best)
	}
	return all, nil
}

// At returns the figures of a contender in a scenario, both by index.
func (g *Grid) At(s, c int) Figures { return g.cells[s*len(g.Contenders)+c] }

// Goodputs returns the goodput of a contender in each seed of a scenario, both by
// index, from the least on.
func (g *Grid) Goodputs(s, c int) []float64 {
	var all []float64
	for _, f := range g.seeds[s*len(g.Contenders)+c] {
		all = append(all, f.Goodput)
	}
	slices.Sort(all)
	return all
}

// Of returns the figures of a contender in every scenario.
func (g *Grid) Of(c int) []Figures {
	all := make([]Figures, len(g.Scenarios))
	for s := range all {
		all[s] = g.At(s, c)
	}
	return all
}
