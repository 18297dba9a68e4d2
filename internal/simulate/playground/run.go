package playground

import (
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/rival"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// Run is a request that is being played. It is not safe for concurrent use.
type Run struct {
	step   time.Duration
	end    time.Duration
	plan   Plan
	at     time.Duration
	tracks []*track // the first is the oracle's
}

// Plan describes a run before it is played. Times are in seconds.
type Plan struct {
	Step    float64 `json:"step"`    // between two points of a curve
	End     float64 `json:"end"`     // the run lasts no longer
	Allowed []Limit `json:"allowed"` // calls per second that the provider admits in the long run
	Rows    []Name  `json:"rows"`    // in the order of the rows of a slice
}

// Limit is what is allowed from a moment on.
type Limit struct {
	At        float64 `json:"at"`
	PerSecond float64 `json:"perSecond"`
}

// Name is the subject of a row.
type Name struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Best is the ID of the row of the oracle, a client that knows the limits.
const Best = "best"

// Slice is what happened since the slice before it.
type Slice struct {
	At   float64 `json:"at"`   // seconds of virtual time
	Over bool    `json:"over"` // there is no further slice
	Rows []Row   `json:"rows"`
}

// Row is one controller in a slice. The curves are of the slice, in calls per
// second, one point for each step. The figures are of the whole run so far.
type Row struct {
	Admitted []float64 `json:"admitted"`
	Rejected []float64 `json:"rejected"`
	Figures
}

// Figures are the table of the page.
type Figures struct {
	Done     int     `json:"done"`     // calls answered with a result
	Attempts int     `json:"attempts"` // calls sent, retries included
	Hits     int     `json:"hits"`     // responses that were 429s
	PerMille float64 `json:"perMille"` // hits in 1,000 responses
	Goodput  float64 `json:"goodput"`  // calls done per second, percent of the oracle's
	Took     float64 `json:"took"`     // seconds until the last call was done; 0: calls are left
}

// track is one controller and the samples of its world that are still to come.
type track struct {
	next  func() (client.Sample, bool)
	stop  func()
	err   *error
	ahead client.Sample // the sample after now
	more  bool
	now   client.Sample
	items int
	end   time.Duration // of the run
}

// Start begins a run. It returns a *RequestError if r cannot be run. Close has
// to follow.
func Start(r Request) (*Run, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	s := r.scenario()
	run := &Run{step: stepOf(s.End()), end: s.End()}
	run.plan = Plan{Step: run.step.Seconds(), End: run.end.Seconds(), Allowed: limits(&s), Rows: []Name{{Best, "Best possible"}}}
	run.play(s, rival.Oracle(), r.Seed)
	for _, id := range r.Controllers {
		c := find(id)
		run.plan.Rows = append(run.plan.Rows, Name{id, c.Name})
		run.play(s, c.play(r.Provider.Reports == Headers), r.Seed)
	}
	return run, nil
}

// points is how many a curve has, about.
const points = 600

// stepOf is a whole number of seconds.
func stepOf(end time.Duration) time.Duration {
	return seconds(max(1, math.Ceil(end.Seconds()/points)))
}

func limits(s *scenario.Scenario) (all []Limit) {
	steps := s.Rates()
	if len(steps) == 0 {
		steps = s.CapRates()
	}
	for _, l := range steps {
		all = append(all, Limit{l.At.Seconds(), l.Limit})
	}
	return all
}

// play adds the world of s with c.
func (r *Run) play(s scenario.Scenario, c client.Contender, seed uint32) {
	t := &track{items: s.Items, end: s.End(), err: new(error)}
	t.next, t.stop = iter.Pull(samples(s, c, uint64(seed), r.step, t.err))
	t.ahead, t.more = t.next()
	r.tracks = append(r.tracks, t)
}

// samples plays s with c, a sample each step and one at the end.
func samples(s scenario.Scenario, c client.Contender, seed uint64, step time.Duration, failed *error) iter.Seq[client.Sample] {
	return func(yield func(client.Sample) bool) {
		seen := true // a run cannot be stopped, but it can be ignored
		results, err := client.Run(s.Setting, c, seed, client.Watch{Every: step, See: func(now client.Sample) {
			seen = seen && yield(now)
		}})
		if err != nil {
			*failed = err
			return
		}
		if seen {
			yield(client.Sample{At: s.End(), Result: results[0]})
		}
	}
}

// Plan returns what is known before the first slice.
func (r *Run) Plan() Plan { return r.plan }

// Close ends r and its goroutines. It may be called twice.
func (r *Run) Close() {
	for _, t := range r.tracks {
		t.stop()
	}
}

// Next plays all controllers for so many more steps, fewer if the run is over
// before: all calls of all rows are done, or the time is up.
func (r *Run) Next(steps int) (Slice, error) {
	s := Slice{Rows: make([]Row, len(r.tracks))}
	for i := range s.Rows {
		s.Rows[i].Admitted, s.Rows[i].Rejected = []float64{}, []float64{} // in JSON they are never null
	}
	for ; steps > 0 && !r.over(); steps-- {
		from := r.at
		r.at = min(r.at+r.step, r.end)
		for i, t := range r.tracks {
			before := whole(&t.now.Result)
			if err := t.reach(r.at); err != nil {
				return s, fmt.Errorf("playground: %s: %w", r.plan.Rows[i].Name, err)
			}
			after, length := whole(&t.now.Result), (r.at - from).Seconds()
			s.Rows[i].Admitted = append(s.Rows[i].Admitted, float64(after.Admitted-before.Admitted)/length)
			s.Rows[i].Rejected = append(s.Rows[i].Rejected, float64(after.Refused-before.Refused)/length)
		}
	}
	best := r.tracks[0].throughput()
	for i, t := range r.tracks {
		s.Rows[i].Figures = t.figures(best)
	}
	s.At, s.Over = r.at.Seconds(), r.over()
	return s, nil
}

func (r *Run) over() bool {
	if r.at >= r.end {
		return true
	}
	for _, t := range r.tracks {
		if !t.done() {
			return false
		}
	}
	return true
}

// reach plays t until at.
func (t *track) reach(at time.Duration) error {
	for t.more && t.ahead.At <= at {
		t.now = t.ahead
		t.ahead, t.more = t.next()
	}
	return *t.err
}

func (t *track) done() bool { return t.now.Result.Done == t.items }

// whole is a result from the beginning of the run on.
func whole(r *client.Result) client.Tally {
	return client.Tally{
		Attempts: r.Cold.Attempts + r.Measured.Attempts,
		Admitted: r.Cold.Admitted + r.Measured.Admitted,
		Refused:  r.Cold.Refused + r.Measured.Refused,
	}
}

// throughput is the calls done per second since the process began, until its
// last call was done.
func (t *track) throughput() float64 {
	if t.now.Result.Done == 0 {
		return 0
	}
	return float64(t.now.Result.Done) / t.elapsed().Seconds()
}

// elapsed is how long the process has had calls to make. Took is until the end
// of the run while calls are left.
func (t *track) elapsed() time.Duration {
	took := t.now.Result.Took
	if t.done() {
		return took
	}
	return took - (t.end - t.now.At)
}

func (t *track) figures(best float64) Figures {
	r, sum := &t.now.Result, whole(&t.now.Result)
	f := Figures{Done: r.Done, Attempts: sum.Attempts, Hits: sum.Refused}
	if responses := sum.Admitted + sum.Refused; responses > 0 {
		f.PerMille = 1000 * float64(sum.Refused) / float64(responses)
	}
	if best > 0 {
		f.Goodput = 100 * t.throughput() / best
	}
	if t.done() {
		f.Took = r.Took.Seconds()
	}
	return f
}
