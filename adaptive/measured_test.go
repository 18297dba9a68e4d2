package adaptive_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/throttle"
)

func TestMeasuredNamesEveryFieldThatIsWrong(t *testing.T) {
	err := adaptive.Measured{Initial: 30, Max: 20, Prior: throttle.Limits{Concurrency: -1}}.Validate()
	var field *fault.FieldError
	require.ErrorAs(t, err, &field)
	assert.ErrorContains(t, err, "Initial: 30 is not between 1 and Max, which is 20")
	assert.ErrorContains(t, err, "Prior: throttle: Concurrency: -1 is negative")
	require.ErrorContains(t, adaptive.Measured{Max: -1}.Validate(), "Max: -1 is below 1")
	require.NoError(t, adaptive.Measured{}.Validate())
}

func TestMeasuredIsTheDefault(t *testing.T) {
	assert.Equal(t, adaptive.Measured{Initial: 4, Max: 200}, adaptive.Measured{}.WithDefaults())
	assert.Equal(t, 3, adaptive.Measured{Max: 3}.WithDefaults().Initial)
	tier5 := throttle.Limits{Windows: []throttle.Window{
		throttle.Sliding(10_000, time.Minute), throttle.Sliding(1_000_000, time.Minute).Of(throttle.Tokens),
	}}
	assert.Equal(t, 3334, adaptive.Measured{Prior: tier5}.WithDefaults().Max, "10,000 a minute, of 20 s each")
	assert.Equal(t, 200, adaptive.Measured{Prior: tier5, Max: 200}.WithDefaults().Max)
	assert.Equal(t, 9, adaptive.Measured{Prior: throttle.Limits{Concurrency: 9}}.WithDefaults().Initial)
}
