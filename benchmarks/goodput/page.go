package goodput

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
)

// Write writes r as a page of Markdown.
func (r *Result) Write(w io.Writer, date time.Time) error {
	var page bytes.Buffer
	t := r.plan.Times
	fmt.Fprintf(&page, `# Goodput over real HTTP

Written by `+"`make goodput`"+` and not by hand: %s, %s.

How much of what a provider allows does a client get if the limit is not disclosed? Each contender calls its own
server (`+"`providertest`"+`, HTTP over loopback). All servers have the same limits and, for the same seed, the same latencies.
The figures are those of the server's ledger.

`, date.Format(time.DateOnly), machine())
	r.table(&page)
	r.fairness(&page)
	r.agreements(&page)
	fmt.Fprintf(&page, `
## How it was measured

- A run has a warm-up of %s and then %s that are measured, for each of %d seeds. A cell is the mean with its 95 %%
  confidence interval (Student). There is always a call to make, and a rejected call is retried until it is served.
- Goodput is the number of calls that the provider admitted, in percent of what a client could get that knows the limits
  and when they change: rate times time, where the rate of a concurrency limit is the limit divided by the mean latency.
  A bucket that is full when the measurement begins adds a little.
- 429s are counted in percent of all requests.
- The first minute starts with the provider, when nothing is known about its limits and its bucket is full. It includes the warm-up.
- Calls last 250 ms on average, log-normal with a deviation of 0.6 of the logarithm. 429s are returned at once.
`, t.WarmUp, t.Measured, r.plan.Seeds)
	r.simulator(&page)
	r.conditions(&page)
	r.cast(&page)
	_, err := w.Write(page.Bytes())
	return err
}

func goodputOf(f Figures) float64  { return f.Goodput }
func refusedOf(f Figures) float64  { return f.Refused }
func runGoodputOf(r Run) float64   { return r.Goodput }
func runRefusedOf(r Run) float64   { return r.Refused }
func firstGoodputOf(r Run) float64 { return r.First.Goodput }
func firstRefusedOf(r Run) float64 { return r.First.Refused }
func jainOf(r Run) float64         { return r.Jain }

func (r *Result) table(w *bytes.Buffer) {
	head := []string{"scenario", "contender", "goodput, %", "simulator", "agree", "429s, %", "simulator", "first minute: goodput, %", "429s, %"}
	row(w, head)
	row(w, []string{"---", "---", "---:", "---:", "---", "---:", "---:", "---:", "---:"})
	last := ""
	for _, c := range r.cells {
		name := ""
		if c.scenario.Name != last {
			last, name = c.scenario.Name, c.scenario.Name
		}
		ours, simulated := pick(c.real, runGoodputOf), pick(c.simulated, goodputOf)
		verdict, _ := agreement(ours, simulated)
		row(w, []string{
			name, c.contender.Name, ours.String(), simulated.String(), verdict,
			pick(c.real, runRefusedOf).String(), pick(c.simulated, refusedOf).String(),
			pick(c.real, firstGoodputOf).String(), pick(c.real, firstRefusedOf).String(),
		})
	}
}

func (r *Result) fairness(w *bytes.Buffer) {
	var lines []string
	for _, c := range r.cells {
		if c.scenario.processes() > 1 {
			lines = append(lines, fmt.Sprintf("%s %.2f", c.contender.Name, pick(c.real, jainOf).mean))
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(w, "\nFairness between processes that share a limit (Jain's index, 1 is even): %s.\n", strings.Join(lines, ", "))
	}
}

// agreements counts the cells that the simulator agrees with.
func (r *Result) agreements(w *bytes.Buffer) {
	judged, agreed := 0, 0
	for _, c := range r.cells {
		verdict, ok := agreement(pick(c.real, runGoodputOf), pick(c.simulated, goodputOf))
		if verdict == "" {
			continue
		}
		judged++
		if ok {
			agreed++
		}
	}
	if judged > 0 {
		fmt.Fprintf(w, "\nThe simulator agrees in %d of %d cells: its mean is within %d points of goodput or within the 95 %% "+
			"interval of the real runs. The column \"agree\" shows by how many points it is above.\n", agreed, judged, closeEnough)
	}
}

func (r *Result) simulator(w *bytes.Buffer) {
	if r.plan.Simulated == 0 {
		return
	}
	fmt.Fprintf(w, `- The simulator (`+"`make simulate`"+`) runs the same controller against the same provider for the same time, in virtual time, with %d
  seeds. It has no model of failsafe-go's adaptive limiter. The models of other projects run over real HTTP as well, in real time. Its window of 5 s is a bucket that is filled when the window
  begins.
`, r.plan.Simulated)
}

// conditions says whether the machine had time for it.
func (r *Result) conditions(w *bytes.Buffer) {
	if len(r.loads) == 0 {
		return
	}
	load := r.busiest()
	if !load.Known {
		fmt.Fprint(w, "- How busy the machine was is unknown: the system does not report it.\n")
		return
	}
	fmt.Fprintf(w, "- The machine was %.0f %% busy, this process took %.0f %% (of all cores, the busiest of %d batches); one timer in "+
		"a hundred fired more than %s late, the worst %s.", load.Busy, load.Own, len(r.loads), tenths(load.Late), tenths(load.Latest))
	if load.Busy > tooBusy {
		fmt.Fprintf(w, " **That is more than %d %%: latencies are distorted, and figures may be.**", tooBusy)
	}
	fmt.Fprint(w, "\n")
}

// cast describes scenarios and contenders.
func (r *Result) cast(w *bytes.Buffer) {
	fmt.Fprint(w, "\n## Scenarios\n\n")
	for _, s := range Scenarios() {
		fmt.Fprintf(w, "- %s: %s\n", s.Name, s.About)
	}
	fmt.Fprint(w, "\n## Contenders\n\n")
	for _, c := range Contenders() {
		fmt.Fprintf(w, "- %s: %s; %d workers\n", c.Name, c.About, c.Workers)
	}
}

func row(w *bytes.Buffer, cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
