package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/report"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// Bursts of 200 calls that fit into a window of a minute are not spread over it: that would be a tenth of the oracle's speed.
func TestAPauseInDemandIsMadeUpFor(t *testing.T) {
	const window = 30130
	s := scenario.Bursts(window)
	g, err := report.Play([]scenario.Scenario{s}, laws(law.Headers), 1)
	require.NoError(t, err)
	assert.Greater(t, g.At(0, 0).Speed, 75.0, s.About)
}
