package report_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/report"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// What a provider did before it became an ordinary one does not matter for ever.
func TestEveryHistoryEnds(t *testing.T) {
	const (
		judged = 1_000_000 // tuning is done below
		stuck  = 30011     // a cap that is gone, under which the bound on calls of 90 s hovered
		least  = 60        // percent of the oracle's
	)
	all := []scenario.Scenario{scenario.Recovery(stuck)}
	for i := range max(10, *drawn/10) {
		all = append(all, scenario.Recovery(judged+i))
	}
	defaults := laws(law.Blind, law.Headers)
	g, err := report.Play(all, defaults, 1)
	require.NoError(t, err)
	for s := range all {
		for c := range defaults {
			assert.GreaterOrEqual(t, g.At(s, c).Goodput, float64(least), "%s at %s: %s", defaults[c].Name, all[s].Name, all[s].About)
		}
	}
}

// laws are those of ours with these names.
func laws(names ...string) []client.Contender {
	return slices.DeleteFunc(law.All(), func(c client.Contender) bool { return !slices.Contains(names, c.Name) })
}
