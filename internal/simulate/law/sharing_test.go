package law_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/report"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// Four processes that are each told that a quarter is theirs get about as much each,
// and nearly all that there is with few rejections, without any other coordination. The
// exception is a limit of one call per second that no header declares: a rejected
// call only says that two have met.
func TestFourThatAreToldTheirPart(t *testing.T) {
	const evenly, oneCall = 0.96, 0.9 // a second without a burst and headers: chance moves the mean of ten seeds by 0.02
	all := slices.Concat(scenario.Twelve(), scenario.Beyond())
	all = slices.DeleteFunc(all, func(s scenario.Scenario) bool { return s.Processes != 4 })
	require.Len(t, all, 4)
	g, err := report.Play(all, law.Sharing(), 10)
	require.NoError(t, err)
	for s := range g.Scenarios {
		for c := range g.Contenders {
			f, about := g.At(s, c), g.Scenarios[s].Name+", "+g.Contenders[c].Name
			if g.Scenarios[s].Name == "1/s b1 by 4" && !g.Contenders[c].Headers {
				assert.GreaterOrEqual(t, f.Jain, oneCall, about)
				continue
			}
			assert.GreaterOrEqual(t, f.Jain, evenly, about)
			assert.GreaterOrEqual(t, f.Goodput, 97.0, about)
			assert.LessOrEqual(t, f.Refused, 2.0, about)
		}
	}
}

// A process that is alone has the whole limit, and its law is the ordinary one.
func TestOneThatIsToldItsPart(t *testing.T) {
	alone := slices.DeleteFunc(scenario.Twelve(), func(s scenario.Scenario) bool { return s.Shared() })
	parts, err := report.Play(alone, law.Sharing(), 1)
	require.NoError(t, err)
	whole, err := report.Play(alone, law.All()[1:], 1)
	require.NoError(t, err)
	for c := range parts.Contenders {
		assert.Equal(t, whole.Of(c), parts.Of(c))
	}
}
