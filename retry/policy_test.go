package retry_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestValidateAccepts(t *testing.T) {
	for name, p := range map[string]retry.Policy{
		"zero":                    {},
		"no retry":                {MaxAttempts: 1},
		"equal delays":            {Multiplier: 1, Initial: time.Second, Max: time.Second},
		"Max below the default":   {Max: time.Millisecond},
		"Initial above the same":  {Initial: time.Hour},
		"exact":                   {NoJitter: true},
		"nearly full jitter":      {Jitter: 0.999},
		"as far as the types go":  {MaxAttempts: math.MaxInt, Initial: math.MaxInt64, Max: math.MaxInt64, Multiplier: math.MaxFloat64},
		"with errors to leave be": {Except: []error{errors.ErrUnsupported}},
	} {
		assert.NoError(t, p.Validate(), name)
	}
}

func TestValidateNamesTheField(t *testing.T) {
	for _, tc := range []struct {
		policy retry.Policy
		field  string
	}{
		{retry.Policy{MaxAttempts: -1}, "MaxAttempts"},
		{retry.Policy{Initial: -1}, "Initial"},
		{retry.Policy{Max: -1}, "Max"},
		{retry.Policy{Initial: 2, Max: 1}, "Initial"},
		{retry.Policy{Multiplier: 0.99}, "Multiplier"},
		{retry.Policy{Multiplier: -2}, "Multiplier"},
		{retry.Policy{Multiplier: math.NaN()}, "Multiplier"},
		{retry.Policy{Multiplier: math.Inf(1)}, "Multiplier"},
		{retry.Policy{Jitter: -0.1}, "Jitter"},
		{retry.Policy{Jitter: 1}, "Jitter"},
		{retry.Policy{Jitter: math.NaN()}, "Jitter"},
		{retry.Policy{Jitter: math.Inf(-1)}, "Jitter"},
		{retry.Policy{Jitter: 0.1, NoJitter: true}, "NoJitter"},
		{retry.Policy{Except: []error{errors.ErrUnsupported, nil}}, "Except[1]"},
	} {
		err := tc.policy.Validate()
		var field *fault.FieldError
		if assert.ErrorAs(t, err, &field, "%+v", tc.policy) {
			assert.Equal(t, "retry", field.Owner)
			assert.Equal(t, tc.field, field.Field, "%+v", tc.policy)
			assert.Equal(t, field.Error(), err.Error(), "one problem and no more: %+v", tc.policy)
		}
	}
}

func TestValidateJoinsAllProblems(t *testing.T) {
	err := retry.Policy{MaxAttempts: -1, Initial: -1, Max: -1, Multiplier: 0.5, Jitter: 2, Except: []error{nil}}.Validate()
	require.Error(t, err)
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	var fields []string
	for _, one := range joined.Unwrap() {
		var field *fault.FieldError
		require.ErrorAs(t, one, &field)
		fields = append(fields, field.Field)
	}
	assert.Equal(t, []string{"MaxAttempts", "Initial", "Max", "Multiplier", "Jitter", "Except[0]"}, fields)
}
