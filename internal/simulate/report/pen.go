package report

import (
	"fmt"
	"io"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// pen plays and writes until something goes wrong, which it keeps.
type pen struct {
	w     io.Writer
	plain bool
	err   error
}

func (p *pen) play(scenarios []scenario.Scenario, contenders []client.Contender, seeds int) *Grid {
	return p.playFrom(scenarios, contenders, 1, seeds)
}

func (p *pen) playFrom(scenarios []scenario.Scenario, contenders []client.Contender, first uint64, seeds int) *Grid {
	g, err := PlayFrom(scenarios, contenders, first, max(1, seeds))
	if p.err == nil {
		p.err = err
	}
	return g
}

// grid writes a table of g, if there is anything in it, and judges it.
func (p *pen) grid(title string, g *Grid, bar Bar, of func(*Grid, Bar) Table, marks *Marks) {
	if p.err != nil || len(g.cells) == 0 {
		return
	}
	p.heading(title, "goodput in % of the oracle / 429s in % of attempts")
	p.table(of(g, bar))
	marks.Grid(title, g, bar)
}

func (p *pen) heading(title, about string) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, "## %s: %s\n\n", title, about)
	}
}

func (p *pen) table(t Table) {
	if p.err != nil {
		return
	}
	if p.plain {
		p.err = t.Plain(p.w)
	} else {
		p.err = t.Markdown(p.w)
	}
}
