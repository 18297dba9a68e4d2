package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/rival"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// Plan is what to play and to print. The zero Plan prints nothing but heads.
type Plan struct {
	Seeds    int            // of each scenario with a name
	Offset   int            // the first random provider, the first harsher one, and the seed before the first of a family
	N        int            // how many random providers
	Harsher  int            // how many of the harsher generator
	Recovery int            // how many of these that become ordinary ones
	Bursts   int            // how many random providers to which items come in bursts
	Sparse   int            // how many of the harsher generator to which few items come at first
	Moving   int            // how many random providers with limits that move
	Set      string         // parts of the names of sets, separated by commas; empty: all
	Family   string         // beginnings of the names of families, separated by commas; empty: all
	Members  bool           // the table of members has all of them, not only the weak ones
	Only     string         // parts of the names of contenders, separated by commas; empty: all in the twelve, elsewhere ours and what knows the limits
	Scenario string         // parts of the names of scenarios, "random" for N random ones, the names of the other drawn sets for those, #n, hn, rn, bn, sn or mn for one of them; empty: all
	ColdOnly bool           // nothing but the cold start
	Names    provider.Names // what refusals say of the limit; the zero Names: what each scenario has
	Ablate   bool           // nothing but the default law without each of its rules
	Show     int            // so many of the worst random scenarios
	Plain    bool           // lines instead of Markdown
	Took     func(set string, d time.Duration)
}

// The sets that no generator draws.
const (
	twelveSet   = "twelve"
	familiesSet = "families"
	jobsSet     = "jobs"
)

// drawnSet is a set that a generator draws. Its name also stands for its scenarios among the names of the others.
type drawnSet struct {
	name, title string
	prefix      string // of the numbers of its scenarios
	draw        func(int) scenario.Scenario
	count       int
	who         []client.Contender
	reach       Reaches
}

// drawnSets are those sets, in the order in which they are printed.
func (p *Plan) drawnSets() []drawnSet {
	many, all := p.many(), p.contenders(everybody())
	ours := p.contenders(law.All()) // the laws of others keep no estimate for minutes, and one that knows the limits has nothing to forget
	return []drawnSet{
		{"random", "Random providers", "#", scenario.Random, p.N, many, RandomReach()},
		{"harsher", "Harsher providers", "h", scenario.Harsher, p.Harsher, many, HarsherReach()},
		{"recovery", "Recovery", "r", scenario.Recovery, p.Recovery, ours, RecoveryReach()},
		{"bursts", "Bursts", "b", scenario.Bursts, p.Bursts, all, BurstsReach()},
		{"sparse", "Sparse", "s", scenario.Sparse, p.Sparse, all, SparseReach()},
		{"moving", "Moving", "m", scenario.Moving, p.Moving, all, MovingReach()},
	}
}

// Write plays p and writes it to w.
func (p *Plan) Write(w io.Writer) error {
	out := &pen{w: w, plain: p.Plain}
	if p.Ablate {
		p.ablations(out)
		return out.err
	}
	var marks Marks
	p.set(twelveSet, func() { p.fixed(out, &marks) })
	p.set(familiesSet, func() { p.families(out, &marks) })
	for _, set := range p.drawnSets() {
		p.set(set.name, func() { p.sweep(out, set, &marks) })
	}
	p.set(jobsSet, func() { p.jobs(out, &marks) })
	if len(marks.rows) > 0 {
		out.heading("Targets", "of the default law, and of clients that know the limits")
		out.table(marks.Table())
	}
	return out.err
}

// set plays one set, if p names it.
func (p *Plan) set(name string, play func()) {
	if !named(name, p.Set) || p.ColdOnly && name != twelveSet {
		return
	}
	began := time.Now()
	play()
	if p.Took != nil {
		p.Took(name, time.Since(began))
	}
}

// fixed is about the twelve and beyond, and drawn scenarios asked for by number.
func (p *Plan) fixed(pen *pen, marks *Marks) {
	twelve := pen.play(p.scenarios(scenario.Twelve()), p.contenders(everybody()), p.Seeds)
	if !p.ColdOnly {
		pen.grid("The twelve", twelve, TwelveBar, (*Grid).Measured, marks)
	}
	pen.grid("Cold start", twelve, ColdBar, (*Grid).Cold, marks)
	pen.grid("First minute", pen.play(p.scenarios(scenario.Quick()), p.contenders(everybody()), p.Seeds), FirstBar, (*Grid).First, marks)
	if p.ColdOnly {
		return
	}
	beyond := append(p.scenarios(scenario.Beyond()), p.numbered()...)
	pen.grid("Beyond the twelve", pen.play(beyond, p.elsewhere(), p.Seeds), BeyondBar, (*Grid).Measured, marks)
	many := slices.DeleteFunc(p.scenarios(slices.Concat(scenario.Twelve(), scenario.Beyond())), func(s scenario.Scenario) bool { return !s.Shared() })
	if parts := p.contenders(law.Sharing()); len(parts) > 0 {
		pen.grid("Processes that are each told their part", pen.play(many, parts, p.Seeds), nil, (*Grid).Measured, marks)
	}
}

func (p *Plan) families(pen *pen, marks *Marks) {
	f := pen.playFamilies(p.judged(), p.elsewhere(), p.first(), p.Seeds)
	if pen.err != nil || len(f.cells) == 0 {
		return
	}
	pen.heading("Families", fmt.Sprintf("mean of medians / worst seed / 429s in %% of attempts, seeds from %d on", p.Offset+1))
	pen.table(f.Table())
	members := f.Members(!p.Members && p.Family == "" && p.Scenario == "")
	if len(members.Rows) > 0 {
		pen.heading("Members of families", "median / worst seed / 429s in % of attempts")
		pen.table(members)
	}
	marks.families(&f)
}

// first is the first seed of the families.
func (p *Plan) first() uint64 { return uint64(max(0, p.Offset)) + 1 }

// judged are the families, with those members that Scenario names.
func (p *Plan) judged() (all []scenario.Family) {
	for _, f := range scenario.Families() {
		if f.Members = p.scenarios(f.Members); len(f.Members) > 0 && begins(f.Name, p.Family) {
			all = append(all, f)
		}
	}
	return all
}

// sweep is about a set that a generator draws.
func (p *Plan) sweep(pen *pen, set drawnSet, marks *Marks) {
	if set.count == 0 || !named(set.name, p.Scenario) {
		return
	}
	g := pen.play(p.drawn(set.draw, set.count), set.who, 1)
	pen.heading(set.title, fmt.Sprintf("%d from #%d on, one seed each", set.count, p.Offset))
	pen.table(g.Spread())
	if p.Show > 0 {
		pen.table(g.Worst(p.Show))
	}
	marks.Sweep(strings.ToLower(set.title), g, set.reach)
}

// drawn are so many scenarios of a generator.
func (p *Plan) drawn(draw func(int) scenario.Scenario, n int) []scenario.Scenario {
	return p.naming(drawn(draw, p.Offset, n))
}

func everybody() []client.Contender {
	return slices.Concat(rival.All(), law.All(), rival.Knowing()[:1])
}

// elsewhere are the contenders outside the twelve.
func (p *Plan) elsewhere() []client.Contender {
	if p.Only == "" {
		return append(law.All(), rival.Knowing()[0])
	}
	return p.contenders(everybody())
}

// many are the contenders among drawn providers, where those that know the limits show
// what can be reached.
func (p *Plan) many() []client.Contender {
	return append(p.elsewhere(), p.contenders(rival.Knowing()[1:])...)
}

// contenders are those of all that Only names.
func (p *Plan) contenders(all []client.Contender) []client.Contender {
	return slices.DeleteFunc(all, func(c client.Contender) bool { return !named(c.Name, p.Only) })
}

func (p *Plan) scenarios(all []scenario.Scenario) []scenario.Scenario {
	return p.naming(slices.DeleteFunc(all, func(s scenario.Scenario) bool { return !named(s.Name, p.Scenario) }))
}

// numbered are the drawn scenarios that Scenario asks for by number.
func (p *Plan) numbered() (all []scenario.Scenario) {
	for name := range strings.SplitSeq(p.Scenario, ",") {
		for _, set := range p.drawnSets() {
			number, ok := strings.CutPrefix(name, set.prefix)
			if i, err := strconv.Atoi(number); ok && err == nil {
				all = append(all, set.draw(i))
			}
		}
	}
	return p.naming(all)
}

// naming has the refusals of all say what Names says.
func (p *Plan) naming(all []scenario.Scenario) []scenario.Scenario {
	for i := range all {
		if p.Names == provider.CapByHeaders {
			continue
		}
		all[i].Provider.Names = p.Names
		for _, c := range all[i].Changes {
			if c.Become != nil {
				c.Become.Names = p.Names
			}
		}
	}
	return all
}

// begins reports whether name begins with one of parts, separated by commas.
func begins(name, parts string) bool {
	for part := range strings.SplitSeq(parts, ",") {
		if strings.HasPrefix(strings.ToLower(name), strings.ToLower(part)) {
			return true
		}
	}
	return false
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
