package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/rival"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// Plan is what to play and to print. The zero Plan prints nothing but heads.
type Plan struct {
	Seeds    int            // of each scenario with a name
	Offset   int            // the first random scenario
	N        int            // how many of those
	Only     string         // parts of the names of contenders, separated by commas; empty: all in the twelve, ours elsewhere
	Scenario string         // parts of the names of scenarios, "random" for N random ones, #n for one of them; empty: all
	ColdOnly bool           // nothing but the cold start
	Names    provider.Names // what refusals say of the limit; the zero Names: what each scenario has
	Ablate   bool           // nothing but the default law without each of its rules
	Show     int            // so many of the worst random scenarios
	Plain    bool           // lines instead of Markdown
}

// randomName stands for the random scenarios among the names of the others.
const randomName = "random"

// Write plays p and writes it to w.
func (p *Plan) Write(w io.Writer) error {
	pen := &pen{w: w, plain: p.Plain}
	if p.Ablate {
		p.ablations(pen)
		return pen.err
	}
	var marks Marks
	p.fixed(pen, &marks)
	if p.N > 0 && named(randomName, p.Scenario) && !p.ColdOnly {
		p.sweep(pen, &marks)
	}
	if len(marks.rows) > 0 {
		pen.heading("Targets", "of the default law")
		pen.table(marks.Table())
	}
	return pen.err
}

// fixed is about the scenarios with a name, and random ones asked for by number.
func (p *Plan) fixed(pen *pen, marks *Marks) {
	twelve := pen.play(p.scenarios(scenario.Twelve()), p.contenders(everybody()), p.Seeds)
	if !p.ColdOnly {
		pen.grid("The twelve", twelve, TwelveBar, (*Grid).Measured, marks)
	}
	pen.grid("Cold start", twelve, ColdBar, (*Grid).Cold, marks)
	if p.ColdOnly {
		return
	}
	beyond := append(p.scenarios(scenario.Beyond()), p.randoms()...)
	pen.grid("Beyond the twelve", pen.play(beyond, p.elsewhere(), p.Seeds), BeyondBar, (*Grid).Measured, marks)
}

func (p *Plan) sweep(pen *pen, marks *Marks) {
	g := pen.play(p.sweeping(), p.elsewhere(), 1)
	pen.heading("Random providers", fmt.Sprintf("%d from #%d on, one seed each", p.N, p.Offset))
	pen.table(g.Spread())
	if p.Show > 0 {
		pen.table(g.Worst(p.Show))
	}
	marks.Sweep("random providers", g)
}

func everybody() []client.Contender { return append(rival.All(), law.All()...) }

// elsewhere are the contenders outside the twelve.
func (p *Plan) elsewhere() []client.Contender {
	if p.Only == "" {
		return law.All()
	}
	return p.contenders(everybody())
}

// contenders are those of all that Only names.
func (p *Plan) contenders(all []client.Contender) []client.Contender {
	return slices.DeleteFunc(all, func(c client.Contender) bool { return !named(c.Name, p.Only) })
}

func (p *Plan) scenarios(all []scenario.Scenario) []scenario.Scenario {
	return p.naming(slices.DeleteFunc(all, func(s scenario.Scenario) bool { return !named(s.Name, p.Scenario) }))
}

// randoms are the scenarios that Scenario asks for by number.
func (p *Plan) randoms() (all []scenario.Scenario) {
	for name := range strings.SplitSeq(p.Scenario, ",") {
		if number, ok := strings.CutPrefix(name, "#"); ok {
			if i, err := strconv.Atoi(number); err == nil {
				all = append(all, scenario.Random(i))
			}
		}
	}
	return p.naming(all)
}

// sweeping are the N random scenarios.
func (p *Plan) sweeping() []scenario.Scenario { return p.naming(Randoms(p.Offset, p.N)) }

// naming has the refusals of all say what Names says.
func (p *Plan) naming(all []scenario.Scenario) []scenario.Scenario {
	for i := range all {
		if p.Names != provider.CapByHeaders {
			all[i].Provider.Names = p.Names
		}
	}
	return all
}

// named reports whether one of parts, separated by commas, is in name.
func named(name, parts string) bool {
	for part := range strings.SplitSeq(parts, ",") {
		if strings.Contains(strings.ToLower(name), strings.ToLower(part)) {
			return true
		}
	}
	return false
}
