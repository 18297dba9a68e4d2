package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/report"
	"github.com/headrace/headrace/internal/simulate/rival"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

func TestTheJobsTable(t *testing.T) {
	page := written(t, report.Plan{Seeds: 1, Set: "jobs", Scenario: "60/min b60"})
	for _, want := range []string{
		"## Small jobs: time beside the oracle's / 429s in % of attempts",
		"| 20 items: 60/min b60, preset ", "| headrace blind ", "| small jobs ",
	} {
		assert.Contains(t, page, want)
	}
	assert.NotContains(t, page, "600/min")
}

// What a job takes is compared with what it takes the oracle.
func TestAJobBesideTheOracle(t *testing.T) {
	var job []scenario.Scenario
	for _, s := range scenario.Jobs() {
		if s.Name == "20 items: 60/min b60" {
			job = append(job, s)
		}
	}
	oracle, still := rival.Oracle(), client.Contender{Name: law.Blind, New: func(client.Seat) (client.Policy, error) { return asleep{}, nil }}
	g, err := report.Play(job, []client.Contender{oracle, still}, 2)
	require.NoError(t, err)
	assert.InDelta(t, 1, g.At(0, 0).Slower, 1e-9)
	assert.Empty(t, report.JobsBar(&job[0], oracle.Name, g.At(0, 0)))
	assert.Greater(t, g.At(0, 1).Slower, 100.0)
	assert.Contains(t, report.JobsBar(&job[0], law.Blind, g.At(0, 1)), "x > 1.2x")
	job[0].Slower = 1e9 // each job has a bound of its own
	assert.Empty(t, report.JobsBar(&job[0], law.Blind, g.At(0, 1)))
}
