package chart

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// Film is what a run looked like, frame by frame.
type Film struct {
	Title    string // what the provider is like
	About    string // the contender
	Every    time.Duration
	Rate     []scenario.Step // calls per second that the provider allows; empty if unknown
	Cap      []scenario.Step // calls in flight that it allows; empty: any number
	ByCap    bool            // Rate is what Cap comes to
	Tracks   []Track
	Attempts int
	Refused  int
}

// Track is one process. A frame is looked at Every after the one before, the
// first at 0; counts are since then.
type Track struct {
	Admitted []int
	Refused  []int
	InFlight []int
	Window   []float64
	Pace     []float64 // calls per second; 0: none is learned
}

// Record plays the world of s with c from seed and looks at it each every.
func Record(s *scenario.Scenario, c client.Contender, seed uint64, every time.Duration) (*Film, error) {
	f := &Film{
		Title: s.About, About: fmt.Sprintf("%s in the scenario %q, seed %d", c.Name, s.Name, seed), Every: every,
		Rate: s.Rates(), Cap: s.Caps(), Tracks: make([]Track, max(1, s.Processes)),
	}
	if len(f.Rate) == 0 {
		f.Rate, f.ByCap = s.CapRates(), true
	}
	last := make([]client.Tally, len(f.Tracks))
	results, err := client.Run(s.Setting, c, seed, client.Watch{Every: every, See: func(now client.Sample) {
		t, was, sum := &f.Tracks[now.Process], last[now.Process], whole(now.Result)
		t.Admitted = append(t.Admitted, sum.Admitted-was.Admitted)
		t.Refused = append(t.Refused, sum.Refused-was.Refused)
		t.InFlight = append(t.InFlight, now.InFlight)
		t.Window = append(t.Window, now.Gauge.Window)
		t.Pace = append(t.Pace, now.Gauge.Pace)
		last[now.Process] = sum
	}})
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		sum := whole(r)
		f.Attempts += sum.Attempts
		f.Refused += sum.Refused
	}
	return f, nil
}

// whole is a result from the beginning of the run on.
func whole(r client.Result) client.Tally {
	return client.Tally{
		Attempts: r.Cold.Attempts + r.Measured.Attempts,
		Admitted: r.Cold.Admitted + r.Measured.Admitted,
		Refused:  r.Cold.Refused + r.Measured.Refused,
	}
}

// frames is how many there are.
func (f *Film) frames() int {
	if len(f.Tracks) == 0 {
		return 0
	}
	return len(f.Tracks[0].Admitted)
}

// length is how long the film is.
func (f *Film) length() time.Duration { return time.Duration(f.frames()) * f.Every }

// sum adds up a number of every track in frame i.
func (f *Film) sum(i int, of func(*Track, int) float64) (sum float64) {
	for t := range f.Tracks {
		sum += of(&f.Tracks[t], i)
	}
	return sum
}
