package rival_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/rival"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// The limits of the twelve, their changes and the share of four processes leave nothing
// to find out: no call is wasted, from the first one on.
func TestThatKnowingTheLimitsIsEnough(t *testing.T) {
	for _, s := range scenario.Twelve() {
		best, got := sum(t, s, rival.Oracle()), sum(t, s, rival.Knowing()[0])
		assert.GreaterOrEqual(t, float64(got.Measured.Admitted), 0.975*float64(best.Measured.Admitted), s.Name)
		assert.GreaterOrEqual(t, float64(got.First.Admitted), 0.9*float64(best.First.Admitted), s.Name)
		assert.LessOrEqual(t, float64(got.Measured.Refused), 0.005*float64(got.Measured.Attempts), s.Name)
	}
}

// Errors at random strike the client that knows the limits like any other. Each costs it
// one call, and an outage no more than its probes.
func TestThatErrorsAreNotKnown(t *testing.T) {
	noise := find(t, scenario.Beyond(), "noise 5%")
	got := sum(t, noise, rival.Knowing()[0]).Measured
	assert.InDelta(t, 0.05, float64(got.Refused)/float64(got.Attempts), 0.01)
	assert.Equal(t, got.Refused, got.Unlucky)

	var members []scenario.Scenario
	for _, f := range scenario.Families() {
		members = append(members, f.Members...)
	}
	outage := find(t, members, "08 20 min of 529")
	best, got := sum(t, outage, rival.Oracle()).Measured, sum(t, outage, rival.Knowing()[0]).Measured
	assert.GreaterOrEqual(t, float64(got.Admitted), 0.95*float64(best.Admitted))
	assert.LessOrEqual(t, float64(got.Refused), 0.01*float64(got.Attempts))
}

// Calls that differ on their way neither fall out of a window nor into the one before.
func TestThatWindowsLeaveRoomForTheWay(t *testing.T) {
	s := find(t, scenario.Beyond(), "sliding 10 s")
	s.Transit = client.Between{Low: 10 * time.Millisecond, High: time.Second}
	got := sum(t, s, rival.Knowing()[0]).Measured
	assert.Zero(t, got.Refused)
	assert.InEpsilon(t, 10/10.99*600*client.Measured.Minutes(), got.Admitted, 0.02)
}

// It sends at its part of the rate.
func TestThatItSendsAtItsPart(t *testing.T) {
	s := find(t, scenario.Twelve(), "600/min b10")
	best := sum(t, s, rival.Oracle()).Measured
	for i, part := range []float64{0.98, 0.9, 0.7, 0.5} {
		c := rival.Knowing()[i]
		assert.Equal(t, fmt.Sprintf("%s, x%g", rival.KnowsLimits, part), c.Name)
		assert.InEpsilon(t, part*float64(best.Admitted), sum(t, s, c).Measured.Admitted, 0.01)
	}
}

// Processes that share a window cannot know when it begins. They spread their calls, and
// step aside for each other after a refusal.
func TestThatThoseWhoShareStepAside(t *testing.T) {
	for name, p := range map[string]provider.Config{
		"window": {More: []provider.Quota{{Max: 3, Per: time.Second, Count: provider.FirstCall}}},
		"longer": {More: []provider.Quota{{Max: 48, Per: 16 * time.Second, Count: provider.FirstCall}}},
		"clock":  {More: []provider.Quota{{Max: 12, Per: 4 * time.Second}}},
		"log":    {Log: provider.Log{Max: 6, Per: 2 * time.Second}},
		"bucket": {Requests: provider.Bucket{PerMinute: 180, Burst: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			s := scenario.Scenario{Setting: client.Setting{
				Provider: p, Processes: 16, Latency: time.Second, Refusal: 50 * time.Millisecond, Net: 10 * time.Millisecond,
			}}
			best, got := sum(t, s, rival.Oracle()).Measured, sum(t, s, rival.Knowing()[1]).Measured
			assert.GreaterOrEqual(t, float64(got.Admitted), 0.8*float64(best.Admitted))
			assert.LessOrEqual(t, float64(got.Refused), 0.1*float64(got.Attempts))
		})
	}
}

// What headers tell of a quota that rejects nothing is not believed.
func TestThatHollowQuotasAreKnownToBe(t *testing.T) {
	s := find(t, scenario.Beyond(), "1/s b1 by 4")
	alone := sum(t, s, rival.Knowing()[0])
	s.Provider.More = []provider.Quota{{Max: 10, Per: time.Minute, Hollow: true}}
	assert.Equal(t, alone, sum(t, s, rival.Knowing()[0]))
}

// A change is used from its moment on, although the next call was far away.
func TestThatAChangeIsUsedAtOnce(t *testing.T) {
	s := scenario.Scenario{Setting: client.Setting{
		Provider: provider.Config{Requests: provider.Bucket{PerMinute: 0.1, Burst: 1}},
		Changes:  []provider.Change{{At: client.WarmUp + 10*time.Second, Factor: 600}},
		Latency:  time.Second, Lasts: time.Minute, Processes: 1,
	}}
	assert.InDelta(t, 50, sum(t, s, rival.Knowing()[0]).Measured.Admitted, 3)
}

// sum is what all processes get.
func sum(t *testing.T, s scenario.Scenario, c client.Contender) (sum client.Result) {
	t.Helper()
	results, err := client.Run(s.Setting, c, 1, client.Watch{})
	require.NoError(t, err)
	for _, r := range results {
		sum.First.Add(r.First)
		sum.Measured.Add(r.Measured)
	}
	return sum
}

func find(t *testing.T, all []scenario.Scenario, name string) scenario.Scenario {
	t.Helper()
	i := slices.IndexFunc(all, func(s scenario.Scenario) bool { return s.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return all[i]
}
