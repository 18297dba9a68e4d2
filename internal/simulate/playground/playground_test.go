package playground_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/playground"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/rival"
)

// halving is a request that every part of the form has a say in.
func halving(change func(*playground.Request)) playground.Request {
	r := playground.Request{
		Provider:    playground.Provider{Kind: playground.RateHalves, Rate: 600, Burst: 10, Change: 2, Cap: 20, Reports: playground.RetryAfter},
		Traffic:     playground.Traffic{AtOnce: 32, Seconds: 1, Calls: 1500},
		Controllers: []string{"headrace", "retry", "aimd", "aws", "inspect", "nall"},
		Seed:        7, Minutes: 20,
	}
	if change != nil {
		change(&r)
	}
	return r
}

// played is the whole of a run, in slices of so many steps.
type played struct {
	plan     playground.Plan
	figures  []playground.Figures
	admitted [][]float64
	rejected [][]float64
	at       float64
	slices   int
}

func play(t *testing.T, r playground.Request, steps int) (all played) {
	t.Helper()
	run, err := playground.Start(r)
	require.NoError(t, err)
	defer run.Close()
	all.plan = run.Plan()
	all.admitted, all.rejected = make([][]float64, len(all.plan.Rows)), make([][]float64, len(all.plan.Rows))
	for over := false; !over; {
		s, err := run.Next(steps)
		require.NoError(t, err)
		all.slices++
		all.figures = nil
		for i := range s.Rows {
			all.admitted[i] = append(all.admitted[i], s.Rows[i].Admitted...)
			all.rejected[i] = append(all.rejected[i], s.Rows[i].Rejected...)
			all.figures = append(all.figures, s.Rows[i].Figures)
		}
		over, all.at = s.Over, s.At
	}
	return all
}

func contender(t *testing.T, name string) client.Contender {
	t.Helper()
	for _, c := range append(append(law.All(), rival.All()...), rival.Oracle()) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("the simulator has no %s", name)
	return client.Contender{}
}

// A run of the page is one of the simulator: the same worlds, the controller
// that ships, and nothing changed by looking at it in slices.
func TestARunIsOneOfTheSimulator(t *testing.T) {
	r := halving(nil)
	got := play(t, r, 7)
	setting := client.Setting{
		Provider: provider.Config{Requests: provider.Bucket{PerMinute: 600, Burst: 10}, RetryAfter: provider.WholeSeconds},
		Changes:  []provider.Change{{At: 2 * time.Minute, Factor: 0.5}},
		Latency:  time.Second, Net: 20 * time.Millisecond, Refusal: 150 * time.Millisecond,
		Callers: 32, Processes: 1, Pool: 32, Items: 1500, Lasts: 18 * time.Minute,
	}
	names := []string{"oracle", law.Blind, "fixed pool 32 + SDK retry", "AIMD x0.5 / x1.2", "AWS adaptive (CUBIC)", "inspect_ai", "Nall"}
	var best float64
	for i, name := range names {
		results, err := client.Run(setting, contender(t, name), 7, client.Watch{})
		require.NoError(t, err)
		want := results[0]
		require.Equal(t, 1500, want.Done, name)
		throughput := float64(want.Done) / want.Took.Seconds()
		if i == 0 {
			best = throughput
		}
		hits, attempts := want.Cold.Refused+want.Measured.Refused, want.Cold.Attempts+want.Measured.Attempts
		assert.Equal(t, playground.Figures{
			Done: 1500, Attempts: attempts, Hits: hits, Took: want.Took.Seconds(),
			PerMille: 1000 * float64(hits) / float64(attempts), Goodput: 100 * throughput / best,
		}, got.figures[i], name)
	}
	for i := range got.figures {
		assert.InDelta(t, 1500, got.plan.Step*sum(got.admitted[i]), 1e-6, "the points of a curve add up")
		assert.InDelta(t, got.figures[i].Hits, got.plan.Step*sum(got.rejected[i]), 1e-6)
	}
	assert.Equal(t, []playground.Limit{{At: 0, PerSecond: 10}, {At: 120, PerSecond: 5}}, got.plan.Allowed)
	assert.Less(t, got.at, got.plan.End, "it is over when all calls are done")
}

func sum(points []float64) (s float64) {
	for _, p := range points {
		s += p
	}
	return s
}

// How large the slices are changes nothing, and a seed decides everything.
func TestSlicesAndSeeds(t *testing.T) {
	fine, coarse := play(t, halving(nil), 1), play(t, halving(nil), 10_000)
	assert.Equal(t, 1, coarse.slices)
	assert.Equal(t, len(fine.admitted[0]), fine.slices)
	coarse.slices = fine.slices
	assert.Equal(t, fine, coarse)

	other := play(t, halving(func(r *playground.Request) { r.Seed = 8 }), 10_000)
	assert.NotEqual(t, fine.figures, other.figures)
}

// While a run goes on the figures are of the time until then.
func TestFiguresSoFar(t *testing.T) {
	run, err := playground.Start(halving(nil))
	require.NoError(t, err)
	defer run.Close()
	none, err := run.Next(0)
	require.NoError(t, err)
	for i := range none.Rows {
		assert.Equal(t, playground.Row{Admitted: []float64{}, Rejected: []float64{}}, none.Rows[i])
	}
	s, err := run.Next(30) // of 2 s
	require.NoError(t, err)
	assert.False(t, s.Over)
	assert.Equal(t, 60.0, s.At)
	best := s.Rows[0]
	assert.Equal(t, 100.0, best.Goodput)
	assert.InDelta(t, 600, best.Done, 15, "10 a second")
	assert.Zero(t, best.Took)
	for i := range s.Rows {
		assert.InDelta(t, 100*float64(s.Rows[i].Done)/float64(best.Done), s.Rows[i].Goodput, 1e-9)
	}
}

// A run that does not get done ends with its time.
func TestTimeIsUp(t *testing.T) {
	got := play(t, halving(func(r *playground.Request) {
		r.Minutes, r.Traffic.Calls, r.Controllers = 3, 200_000, []string{"headrace"}
	}), 50)
	assert.Equal(t, 180.0, got.at)
	assert.Zero(t, got.figures[1].Took)
	assert.Less(t, got.figures[1].Done, 2000)
	assert.Len(t, got.admitted[1], 180)
}

// A curve has a bounded number of points, however long a run is.
func TestSteps(t *testing.T) {
	got := play(t, halving(func(r *playground.Request) {
		r.Minutes, r.Provider.Kind, r.Provider.Rate, r.Traffic.Calls, r.Controllers = 101, playground.SteadyRate, 60, 200_000, []string{"headrace"}
	}), 1000)
	assert.Equal(t, 11.0, got.plan.Step)
	assert.Len(t, got.admitted[1], 551) // the last one is shorter
	assert.InDelta(t, 1, got.admitted[1][550], 0.5)
	assert.Equal(t, 6060.0, got.at)
}

func TestProviders(t *testing.T) {
	for kind, want := range map[playground.Kind][]playground.Limit{
		playground.SteadyRate:    {{At: 0, PerSecond: 10}},
		playground.RateHalves:    {{At: 0, PerSecond: 10}, {At: 120, PerSecond: 5}},
		playground.RateDoubles:   {{At: 0, PerSecond: 10}, {At: 120, PerSecond: 20}},
		playground.CallsInFlight: {{At: 0, PerSecond: 20 / 1.04}},
		playground.FixedMinute:   {{At: 0, PerSecond: 10}},
	} {
		got := play(t, halving(func(r *playground.Request) { r.Provider.Kind, r.Controllers = kind, []string{"headrace"} }), 1000)
		assert.Equal(t, want, got.plan.Allowed, kind)
		assert.Equal(t, 1500, got.figures[1].Done, kind)
		assert.Less(t, got.figures[1].PerMille, 60.0, kind)
		assert.Greater(t, got.figures[1].Goodput, 70.0, kind)
	}
}

// What a provider reports reaches the controllers that read it.
func TestReports(t *testing.T) {
	var hits []int
	var took []float64
	for _, reports := range []playground.Reports{playground.Nothing, playground.RetryAfter, playground.Headers} {
		got := play(t, halving(func(r *playground.Request) {
			r.Provider.Kind, r.Provider.Reports, r.Controllers = playground.FixedMinute, reports, []string{"headrace", "retry"}
		}), 1000)
		hits = append(hits, got.figures[1].Hits, got.figures[2].Hits)
		took = append(took, got.figures[1].Took)
	}
	assert.NotEqual(t, took[0], took[1], "headrace reads Retry-After")
	assert.NotEqual(t, took[1], took[2], "and headers")
	assert.Greater(t, hits[1], hits[3], "retries do Retry-After")
	assert.Equal(t, hits[3], hits[5], "and not headers")
}

// The page offers every controller of the simulator, under the name that it has there.
func TestControllers(t *testing.T) {
	var ids []string
	shown := 0
	for _, c := range playground.Controllers() {
		ids = append(ids, c.ID)
		if c.Shown {
			shown++
		}
	}
	assert.Len(t, ids, 1+len(rival.All()))
	assert.Equal(t, 6, shown)
	got := play(t, halving(func(r *playground.Request) { r.Controllers, r.Traffic.Calls = ids, 50 }), 1000)
	assert.Len(t, got.figures, 1+len(ids))
}

func TestProblems(t *testing.T) {
	for about, c := range map[string]struct {
		change func(*playground.Request)
		want   []playground.Problem
	}{
		"all at once": {
			func(r *playground.Request) { *r = playground.Request{} },
			[]playground.Problem{
				{Field: "kind", Text: `is "", which is not a kind of provider`},
				{Field: "rate", Text: "must be between 1 and 60,000"},
				{Field: "reports", Text: `is "", which is not one of the choices`},
				{Field: "atOnce", Text: "must be between 1 and 500"},
				{Field: "seconds", Text: "must be between 0.05 and 300"},
				{Field: "calls", Text: "must be between 1 and 200,000"},
				{Field: "minutes", Text: "must be between 3 and 120"},
				{Field: "controllers", Text: "are missing: choose at least one"},
			},
		},
		"a bucket": {
			func(r *playground.Request) { r.Provider.Rate, r.Provider.Burst, r.Provider.Change = math.NaN(), 0, 121 },
			[]playground.Problem{
				{Field: "burst", Text: "must be between 1 and 10,000"},
				{Field: "rate", Text: "must be between 1 and 60,000"},
				{Field: "change", Text: "must be between 0.1 and 120"},
			},
		},
		"a cap": {
			func(r *playground.Request) {
				r.Provider = playground.Provider{Kind: playground.CallsInFlight, Reports: playground.Nothing}
			},
			[]playground.Problem{{Field: "cap", Text: "must be between 1 and 1,000"}},
		},
		"a minute": {
			func(r *playground.Request) { r.Provider.Kind, r.Provider.Rate = playground.FixedMinute, 1.5 },
			[]playground.Problem{{Field: "rate", Text: "must be a whole number for a fixed minute"}},
		},
		"controllers": {
			func(r *playground.Request) { r.Controllers = []string{"aimd", "mine", "aimd"} },
			[]playground.Problem{
				{Field: "controllers", Text: `have "mine", which does not exist`},
				{Field: "controllers", Text: `have "aimd" twice`},
			},
		},
	} {
		t.Run(about, func(t *testing.T) {
			run, err := playground.Start(halving(c.change))
			assert.Nil(t, run)
			var wrong *playground.RequestError
			require.True(t, errors.As(err, &wrong))
			assert.Equal(t, c.want, wrong.Problems)
			assert.ErrorContains(t, err, c.want[0].Field+" "+c.want[0].Text)
		})
	}
}

// The page knows these names.
func TestJSON(t *testing.T) {
	var r playground.Request
	require.NoError(t, json.Unmarshal([]byte(`{
		"provider": {"kind": "halves", "rate": 600, "burst": 10, "change": 2, "cap": 20, "reports": "retry-after"},
		"traffic": {"atOnce": 32, "seconds": 1, "calls": 1500},
		"controllers": ["headrace", "retry", "aimd", "aws", "inspect", "nall"], "seed": 7, "minutes": 20}`), &r))
	assert.Equal(t, halving(nil), r)

	row, err := json.Marshal(playground.Row{Admitted: []float64{1}, Rejected: []float64{}})
	require.NoError(t, err)
	assert.JSONEq(t, `{"admitted":[1],"rejected":[],"done":0,"attempts":0,"hits":0,"perMille":0,"goodput":0,"took":0}`, string(row))
}
