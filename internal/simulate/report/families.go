package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// Verdict is what a contender comes to in one member of a family, or in several.
type Verdict struct {
	Median  float64 // goodput, percent of the oracle's; of several members the mean
	Worst   float64 // the same of the worst seed
	Own     float64 // 429s that a limit called for, percent of the attempts; a mean
	Refused float64 // all rejections, percent of the attempts; a mean
}

// Judge is the verdict about a contender in a scenario, both by index.
func (g *Grid) Judge(s, c int) Verdict {
	goodputs, f := g.Goodputs(s, c), g.At(s, c)
	middle := len(goodputs) / 2
	median := goodputs[middle]
	if len(goodputs)%2 == 0 {
		median = (median + goodputs[middle-1]) / 2
	}
	return Verdict{Median: median, Worst: goodputs[0], Own: f.Own, Refused: f.Refused}
}

// together is the verdict over several members.
func together(all []Verdict) Verdict {
	if len(all) == 0 {
		return Verdict{}
	}
	sum := Verdict{Worst: math.Inf(1)}
	n := float64(len(all))
	for _, v := range all {
		sum.Median += v.Median / n
		sum.Own += v.Own / n
		sum.Refused += v.Refused / n
		sum.Worst = min(sum.Worst, v.Worst)
	}
	return sum
}

func (v Verdict) cell() string {
	cell := fmt.Sprintf("%.1f / %.1f / %s", v.Median, v.Worst, share(v.Own))
	if all := share(v.Refused); all != share(v.Own) {
		cell += " (" + all + ")"
	}
	return cell
}

// What the default law has to reach in the families, in percent.
const (
	familiesBlind, familiesHeaders = 95, 98 // mean of the members' medians
	familiesRefused                = 1.5    // mean of their 429s
	memberMedian, memberWorst      = 80, 60
)

// weak reports whether a member is below what is asked of each of them.
func (v Verdict) weak() bool { return v.Median < memberMedian || v.Worst < memberWorst }

// families are members of families, played.
type families struct {
	*Grid
	all   []scenario.Family
	names []string // of the families, by scenario
}

// playFamilies plays the members of all, from seed first on.
func (p *pen) playFamilies(all []scenario.Family, contenders []client.Contender, first uint64, seeds int) families {
	var members []scenario.Scenario
	f := families{all: all}
	for _, family := range all {
		for _, m := range family.Members {
			members, f.names = append(members, m), append(f.names, family.Name)
		}
	}
	f.Grid = p.playFrom(members, contenders, first, seeds)
	return f
}

// verdicts of a contender in the members of a family; an empty name is all of them.
func (f *families) verdicts(name string, c int) (all []Verdict) {
	for s, of := range f.names {
		if name == "" || of == name {
			all = append(all, f.Judge(s, c))
		}
	}
	return all
}

// Table has a line for each family and one for all members.
func (f *families) Table() Table {
	t := Table{Head: []string{"family", "members"}}
	for _, c := range f.Contenders {
		t.Head = append(t.Head, c.Name)
	}
	for i := range len(f.all) + 1 {
		name, title := "", "all"
		if i < len(f.all) {
			name, title = f.all[i].Name, f.all[i].Name
		}
		row := []string{title, strconv.Itoa(len(f.verdicts(name, 0)))}
		for c := range f.Contenders {
			row = append(row, together(f.verdicts(name, c)).cell())
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Members has a line for each member, or only for those in which a contender is weak.
func (f *families) Members(onlyWeak bool) Table {
	t := Table{Head: []string{"member"}}
	for _, c := range f.Contenders {
		t.Head = append(t.Head, c.Name)
	}
	for s := range f.Scenarios {
		row, anyWeak := []string{f.Scenarios[s].Name}, false
		for c, contender := range f.Contenders {
			v := f.Judge(s, c)
			cell := v.cell()
			if f.Scenarios[s].Shared() {
				cell += fmt.Sprintf(" [%.2f]", f.At(s, c).Jain)
			}
			if asked(contender.Name) && v.weak() {
				cell += miss
				anyWeak = true
			}
			row = append(row, cell)
		}
		if anyWeak || !onlyWeak {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// families judges what f comes to.
func (m *Marks) families(f *families) {
	for c, contender := range f.Contenders {
		if !asked(contender.Name) {
			continue
		}
		want := float64(familiesBlind)
		if contender.Name == law.Headers {
			want = familiesHeaders
		}
		v := together(f.verdicts("", c))
		m.least("families", contender.Name, "mean of medians", v.Median, want)
		m.most("families", contender.Name, "429s", v.Own, familiesRefused)
		weak := 0
		for _, v := range f.verdicts("", c) {
			if v.weak() {
				weak++
			}
		}
		wrong := ""
		if weak > 0 {
			wrong = fmt.Sprintf("%d are below %d in the median or %d in the worst seed", weak, memberMedian, memberWorst)
		}
		m.add("families: each member", contender.Name, wrong)
	}
}
