package law_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/report"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// played is the result of the controller without headers in a scenario with names in its refusals.
func played(t *testing.T, name string, names provider.Names) report.Figures {
	t.Helper()
	for _, s := range scenario.Twelve() {
		if s.Name != name {
			continue
		}
		s.Provider.Names = names
		for _, c := range law.All() {
			if c.Name == law.Blind {
				g, err := report.Play([]scenario.Scenario{s}, []client.Contender{c}, 8)
				require.NoError(t, err)
				return g.At(0, 0)
			}
		}
	}
	require.Fail(t, "nobody, or nowhere", name)
	return report.Figures{}
}

// A name helps where it is true, and does little harm where a cap calls itself requests.
func TestWhatANameIsWorth(t *testing.T) {
	silent, named := played(t, "no Retry-After", provider.Nothing), played(t, "no Retry-After", provider.Everything)
	assert.GreaterOrEqual(t, named.Goodput, silent.Goodput-0.1)
	assert.Less(t, named.ColdRefused, 0.6*silent.ColdRefused, "no trial of a cap")
	assert.Equal(t, silent, played(t, "no Retry-After", provider.CapByHeaders))

	wrong := played(t, "cap 20", provider.RequestsOnly)
	assert.Greater(t, wrong.Goodput, played(t, "cap 20", provider.Nothing).Goodput-2)
	assert.Less(t, wrong.Own, 1.0)
}
