package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// Trace plays seed 1 of every scenario and contender that p names and writes
// what each process was doing, as lines of tab-separated values, one each d.
// Counts are since the line before.
func (p *Plan) Trace(w io.Writer, d time.Duration) error {
	head := []string{
		"scenario", "contender", "seconds", "process", "in flight", "admitted", "refused", "window", "pace", "token pace", "bound",
	}
	if _, err := fmt.Fprintln(w, strings.Join(head, "\t")); err != nil {
		return err
	}
	return p.Each(func(s *scenario.Scenario, c client.Contender) error { return traceOne(w, d, s, c) })
}

// Each calls f for every scenario and contender that p names, until one fails.
func (p *Plan) Each(f func(*scenario.Scenario, client.Contender) error) error {
	for _, s := range p.chosen() {
		for _, c := range p.elsewhere() {
			if err := f(&s, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// chosen are the scenarios that Scenario names.
func (p *Plan) chosen() []scenario.Scenario {
	all := p.scenarios(slices.Concat(scenario.Twelve(), scenario.Beyond()))
	for _, f := range p.judged() {
		all = append(all, f.Members...)
	}
	return append(all, p.numbered()...)
}

func traceOne(w io.Writer, d time.Duration, s *scenario.Scenario, c client.Contender) error {
	last := make([]client.Tally, s.Processes)
	var failed error
	_, err := client.Run(s.Setting, c, 1, client.Watch{Every: d, See: func(now client.Sample) {
		all := total([]client.Result{now.Result})
		sum := client.Tally{
			Admitted: all.Cold.Admitted + all.Measured.Admitted,
			Refused:  all.Cold.Refused + all.Measured.Refused,
		}
		was := last[now.Process]
		last[now.Process] = sum
		if failed != nil {
			return
		}
		_, failed = fmt.Fprintf(w, "%s\t%s\t%.3f\t%d\t%d\t%d\t%d\t%.1f\t%.3f\t%.0f\t%s\n",
			s.Name, c.Name, now.At.Seconds(), now.Process, now.InFlight, sum.Admitted-was.Admitted, sum.Refused-was.Refused,
			now.Gauge.Window, now.Gauge.Pace, now.Gauge.TokenPace, now.Gauge.Bound)
	}})
	if err != nil {
		return err
	}
	return failed
}
