package goodput

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/rival"
)

const (
	// opening is when the provider of a simulated run counts as started. The
	// simulator has processes join 20 s apart; by then all of them are there,
	// and they begin as those of a real run do.
	opening       = 65 * time.Second
	joinSimulated = 20 * time.Second

	// What it takes on the loopback: to get there, and to be refused.
	netSimulated     = 200 * time.Microsecond
	refusalSimulated = 500 * time.Microsecond
)

// simulate plays c against the provider of s in the simulator.
func simulate(s *Scenario, c client.Contender, t Times, seed uint64) (Figures, error) {
	if opening+t.end() > client.WarmUp+client.Measured {
		return Figures{}, fmt.Errorf("goodput: the simulator does not play for %s", t.end())
	}
	got, err := s.played(c, t, seed)
	if err != nil {
		return Figures{}, err
	}
	best, err := s.played(rival.Oracle(), t, seed)
	if err != nil {
		return Figures{}, err
	}
	return got.figures(float64(best.admitted)), nil
}

// played is what c gets within the measured time.
func (s *Scenario) played(c client.Contender, t Times, seed uint64) (tally, error) {
	processes := s.processes()
	before, after := make([]client.Tally, processes), make([]client.Tally, processes)
	watch := client.Watch{Every: time.Second, See: func(x client.Sample) {
		if x.At == opening+t.WarmUp {
			before[x.Process] = sum(x.Result)
		}
		if x.At == opening+t.end() {
			after[x.Process] = sum(x.Result)
		}
	}}
	if _, err := client.Run(s.setting(t), s.seated(c), seed, watch); err != nil {
		return tally{}, err
	}
	got := tally{by: make([]int, processes)}
	for i := range processes {
		got.by[i] = after[i].Admitted - before[i].Admitted
		got.admitted += got.by[i]
		got.refused += after[i].Refused - before[i].Refused
	}
	return got, nil
}

// sum is everything up to now: the simulator's own windows are not ours.
func sum(r client.Result) client.Tally {
	return client.Tally{Admitted: r.Cold.Admitted + r.Measured.Admitted, Refused: r.Cold.Refused + r.Measured.Refused}
}

// setting is the world of s in the simulator.
func (s *Scenario) setting(t Times) client.Setting {
	w := client.Setting{
		Latency: s.Latency, Net: netSimulated, Refusal: refusalSimulated, Processes: s.processes(), Pool: poolWorkers,
		Provider: provider.Config{Cap: s.Limits.Concurrency},
	}
	if s.RetryAfter != 0 {
		w.Provider.RetryAfter = provider.WholeSeconds
	}
	if r := s.Limits.Rate; r.PerSecond > 0 {
		w.Provider.Requests = provider.Bucket{PerMinute: 60 * r.PerSecond, Burst: float64(r.Burst)}
	}
	factor := 1.0
	for _, p := range s.Phases {
		w.Changes = append(w.Changes, provider.Change{
			At: opening + t.start(p), Factor: p.Factor / factor,
			Cap: s.limits(p.Factor).Concurrency,
		})
		factor = p.Factor
	}
	if s.Limits.Window.Max > 0 {
		turning(&w, s.Limits.Window)
	}
	if w.Provider.Requests != (provider.Bucket{}) {
		w.Provider.Tokens = peephole()
	}
	return w
}
