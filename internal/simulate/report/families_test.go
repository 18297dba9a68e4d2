package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/report"
	"github.com/headrace/headrace/internal/simulate/rival"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// slowFamily is the members of a family that admit little.
const slowFamily = "11 3/min,11 1 in 20 s"

func TestTheFamiliesTable(t *testing.T) {
	page := written(t, report.Plan{Seeds: 2, Only: "Vegas", Set: "families", Scenario: slowFamily})
	for _, want := range []string{
		"## Families: mean of medians / worst seed / 429s in % of attempts, seeds from 1 on",
		"| 11 slow, fast, long | 3       |", "| all                 | 3       |",
		"## Members of families", "| 11 3/min b1, silent ",
	} {
		assert.Contains(t, page, want)
	}
	for _, not := range []string{"| 01 ", "The twelve", "Random", "Harsher", "Targets"} {
		assert.NotContains(t, page, not)
	}
	assert.Empty(t, written(t, report.Plan{Seeds: 1, Set: "families", Family: "08,09", Scenario: slowFamily}))
}

// The offset chooses the worlds of the families too.
func TestTheOffsetChoosesTheSeedsOfFamilies(t *testing.T) {
	page := func(offset int) string {
		whole := written(t, report.Plan{Seeds: 2, Offset: offset, Only: "promptfoo", Set: "families", Scenario: "11 calls of 100 s, 1/s"})
		_, table, _ := strings.Cut(whole, "\n")
		return table
	}
	assert.Equal(t, page(0), page(0))
	assert.NotEqual(t, page(0), page(1000))
}

// A family that is asked for is listed in full, and the default law is judged.
func TestAFamilyIsListedInFull(t *testing.T) {
	page := written(t, report.Plan{Seeds: 1, Only: "blind", Set: "families", Family: "01"})
	assert.Contains(t, page, "| 01 1/s and 10,000 a day ")
	assert.Contains(t, page, "| families: each member     | headrace blind |")
}

func TestTheWorstVerdict(t *testing.T) {
	still := client.Contender{Name: law.Blind, New: func(client.Seat) (client.Policy, error) { return asleep{}, nil }}
	g, err := report.PlayFrom(scenario.Twelve()[:1], []client.Contender{still}, 7, 3)
	require.NoError(t, err)
	assert.Equal(t, report.Verdict{}, g.Judge(0, 0))
	assert.Equal(t, []float64{0, 0, 0}, g.Goodputs(0, 0))
}

func TestAVerdictIsTheMedianAndTheWorstSeed(t *testing.T) {
	s := scenario.Twelve()[:1]
	for _, seeds := range []int{3, 4} {
		g, err := report.PlayFrom(s, rival.All()[3:4], 1, seeds)
		require.NoError(t, err)
		all, v := g.Goodputs(0, 0), g.Judge(0, 0)
		require.Len(t, all, seeds)
		assert.IsNonDecreasing(t, all)
		assert.Equal(t, all[0], v.Worst)
		assert.InDelta(t, (all[(seeds-1)/2]+all[seeds/2])/2, v.Median, 1e-9)
	}
}

func TestTheHarsherSet(t *testing.T) {
	var sets []string
	page := written(t, report.Plan{
		Seeds: 1, Offset: slowOnes, N: 1, Harsher: 2, Recovery: 3, Bursts: 4, Sparse: 5, Moving: 6, Only: "Vegas,AIMD", Scenario: "random,harsher,recovery,bursts,sparse,moving",
		Took: func(set string, _ time.Duration) { sets = append(sets, set) },
	})
	assert.Contains(t, page, "## Random providers: 1 from #39 on")
	assert.Contains(t, page, "## Harsher providers: 2 from #39 on")
	assert.Contains(t, page, "## Recovery: 3 from #39 on")
	assert.Contains(t, page, "## Bursts: 4 from #39 on")
	assert.Contains(t, page, "speed min")
	assert.Contains(t, page, "## Sparse: 5 from #39 on")
	assert.Contains(t, page, "## Moving: 6 from #39 on")
	assert.Equal(t, []string{"twelve", "families", "random", "harsher", "recovery", "bursts", "sparse", "moving", "jobs"}, sets)

	page = written(t, report.Plan{Seeds: 1, Only: "Vegas", Set: "twelve", Scenario: "h39,r39,s39,m39"})
	assert.Contains(t, page, "| h39 ")
	assert.Contains(t, page, "| r39 ")
	assert.Contains(t, page, "| s39 ")
	assert.Contains(t, page, "| m39 ")
}

// Clients that know the limits stand beside the laws: with all parts of the rates among drawn providers, with one elsewhere.
func TestThoseThatKnowTheLimitsAreListed(t *testing.T) {
	drawn := written(t, report.Plan{Seeds: 1, N: 1, Set: "random"})
	elsewhere := written(t, report.Plan{Seeds: 1, Set: "families", Scenario: "11 calls of 100 s, 1/s"})
	for i, part := range []string{"x0.98", "x0.9 ", "x0.7", "x0.5"} {
		assert.Contains(t, drawn, "knows the limits, "+part)
		assert.Equal(t, i == 0, strings.Contains(elsewhere, "knows the limits, "+part), part)
	}
	_, targets, _ := strings.Cut(drawn, "## Targets")
	assert.Contains(t, targets, "knows the limits, x0.5", "they are judged")
}
