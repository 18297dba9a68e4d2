package goodput

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Plan is what to run.
type Plan struct {
	Seeds    int    // runs of each contender in each scenario
	AtOnce   int    // seeds that run at a time; 0 means all of them
	Times    Times  // of each run
	Scenario string // part of the names of scenarios; empty: all
	Only     string // part of the names of contenders; empty: all
	// Simulated is how many seeds the simulator plays of each; 0: it is left out.
	Simulated int
	// Progress receives what has been done; it may be nil.
	Progress io.Writer
}

// Full are the times of the page.
func Full() Times { return Times{WarmUp: 30 * time.Second, Measured: 90 * time.Second} }

// least is how many seeds the page needs.
const least = 5

// Full reports whether a run of p is worth a page.
func (p *Plan) Full() bool {
	return p.Seeds >= least && p.Simulated >= least && p.Times == Full() && p.Scenario == "" && p.Only == ""
}

// cell is a contender in a scenario, one figure a seed.
type cell struct {
	scenario  *Scenario
	contender *Contender
	real      []Run
	simulated []Figures
}

// Result is what came of a plan.
type Result struct {
	plan  Plan
	cells []cell
	loads []Load // of each batch of seeds
}

// Run runs p. The simulator comes first: it computes, and nothing is measured meanwhile.
func (p *Plan) Run(ctx context.Context) (*Result, error) {
	if p.Times.WarmUp%time.Second != 0 || p.Times.Measured%time.Second != 0 || p.Times.Measured <= 0 || p.Times.WarmUp < 0 {
		return nil, fmt.Errorf("goodput: %s of warm-up and %s measured: use whole seconds", p.Times.WarmUp, p.Times.Measured)
	}
	r := &Result{plan: *p, cells: p.cells()}
	if len(r.cells) == 0 {
		return nil, fmt.Errorf("goodput: no scenario %q with a contender %q", p.Scenario, p.Only)
	}
	if err := r.simulate(ctx); err != nil {
		return nil, err
	}
	atOnce := p.AtOnce
	if atOnce <= 0 {
		atOnce = p.Seeds
	}
	for first := 0; first < p.Seeds; first += atOnce {
		if err := r.batch(ctx, first, min(first+atOnce, p.Seeds)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (p *Plan) cells() (all []cell) {
	named := func(name, part string) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(part)) }
	for _, s := range Scenarios() {
		for _, c := range Contenders() {
			if named(s.Name, p.Scenario) && named(c.Name, p.Only) {
				all = append(all, cell{
					scenario: &s, contender: &c,
					real: make([]Run, p.Seeds),
				})
			}
		}
	}
	return all
}

func (r *Result) simulate(ctx context.Context) error {
	begin := time.Now()
	for i := range r.cells {
		c := &r.cells[i]
		if c.contender.Simulated == nil {
			continue
		}
		for seed := range r.plan.Simulated {
			f, err := simulate(c.scenario, *c.contender.Simulated, r.plan.Times, seedOf(seed))
			if err := cmp.Or(err, context.Cause(ctx)); err != nil {
				return err
			}
			c.simulated = append(c.simulated, f)
		}
	}
	r.progress("simulator: %s", time.Since(begin).Round(time.Second))
	return nil
}

// batch runs all cells at once, of the seeds from first to before end.
func (r *Result) batch(ctx context.Context, first, end int) error {
	group, running := errgroup.WithContext(ctx)
	for i := range r.cells {
		c := &r.cells[i]
		for seed := first; seed < end; seed++ {
			group.Go(func() (err error) {
				c.real[seed], err = measure(running, c.scenario, c.contender, r.plan.Times, seedOf(seed), loopback)
				return err
			})
		}
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	loads := make(chan Load, 1)
	go func() { loads <- watch(watching) }()
	err := group.Wait()
	stop()
	load := <-loads
	r.loads = append(r.loads, load)
	r.progress("seeds %d to %d of %d: machine %.0f %% busy, %.0f %% by this process, a timer in a hundred %s late, the worst %s",
		first+1, end, r.plan.Seeds, load.Busy, load.Own, tenths(load.Late), tenths(load.Latest))
	return err
}

func (r *Result) progress(format string, args ...any) {
	if r.plan.Progress != nil {
		_, _ = fmt.Fprintf(r.plan.Progress, format+"\n", args...)
	}
}

// tenths rounds to tenths of a millisecond.
func tenths(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// seedOf is the seed of the i-th run.
func seedOf(i int) uint64 { return uint64(i) + 1 } //nolint:gosec // an index

// busiest is the batch in which the machine was busiest.
func (r *Result) busiest() Load {
	return slices.MaxFunc(r.loads, func(a, b Load) int { return int(a.Busy*1000) - int(b.Busy*1000) })
}

// pick takes one figure of each run.
func pick[R any](all []R, of func(R) float64) sample {
	var xs []float64
	for _, r := range all {
		xs = append(xs, of(r))
	}
	return sampleOf(xs)
}
