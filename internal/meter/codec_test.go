package meter_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/meter"
)

// Services keep the zones that their clients name: one zone has one name.
func TestAZoneHasOneName(t *testing.T) {
	loc, err := meter.Location("Europe/Berlin", 0)
	require.NoError(t, err)
	assert.Equal(t, "Europe/Berlin", loc.String())
	for _, name := range []string{"Europe/./Berlin", "Europe//Berlin", "./Europe/Berlin", "Europe/../Europe/Berlin", strings.Repeat("./", 1<<20) + "UTC", strings.Repeat("a", 1<<20)} {
		_, err := meter.Location(name, 0)
		require.ErrorContains(t, err, "time zone", "%.50s", name)
		assert.Less(t, len(err.Error()), 1000)
	}
}
