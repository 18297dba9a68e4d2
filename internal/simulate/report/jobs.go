package report

import (
	"fmt"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// jobs is about items that soon are all done: what counts is the time until they are.
func (p *Plan) jobs(pen *pen, marks *Marks) {
	all := p.scenarios(scenario.Jobs())
	g := pen.playFrom(all, p.elsewhere(), p.first(), p.Seeds)
	if pen.err != nil || len(g.cells) == 0 {
		return
	}
	pen.heading("Small jobs", "time beside the oracle's / 429s in % of attempts")
	pen.table(g.table(JobsBar, func(_ int, f Figures) string {
		return fmt.Sprintf("%.2fx / %s", f.Slower, share(f.Whole))
	}))
	marks.Grid("small jobs", g, JobsBar)
}

// JobsBar is that of the small jobs.
func JobsBar(s *scenario.Scenario, contender string, f Figures) string {
	if !asked(contender) || f.Slower <= s.Slower {
		return ""
	}
	return fmt.Sprintf("time %.2fx > %.3gx", f.Slower, s.Slower)
}

// slower is how many times as long the last process of a run took as that of the oracle's.
func slower(run, oracle []client.Result) float64 {
	took := func(all []client.Result) (longest float64) {
		for i := range all {
			longest = max(longest, all[i].Took.Seconds())
		}
		return longest
	}
	if best := took(oracle); best > 0 {
		return took(run) / best
	}
	return 1
}
