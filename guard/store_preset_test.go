package guard_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// Two guards with one store do not send more than a preset allows, although each learns for itself.
func TestAPresetIsAHardLimitInAStore(t *testing.T) {
	limits, err := throttle.ParseLimits("4/h")
	require.NoError(t, err)
	table, err := presets.New(presets.Profile{ID: "mine/free", Limits: limits})
	require.NoError(t, err)
	p := guard.Policy{Name: "mine", Preset: "mine/free", Presets: table, Store: quota.NewMemoryStore(nil)}
	one, err := guard.New(p)
	require.NoError(t, err)
	two, err := guard.New(p)
	require.NoError(t, err)
	require.NoError(t, one.Try(t.Context(), throttle.Cost{Requests: 3}, nothing))
	require.NoError(t, two.Try(t.Context(), throttle.Cost{}, nothing))
	require.ErrorIs(t, two.Try(t.Context(), throttle.Cost{}, nothing), throttle.ErrLimited)
	assert.Equal(t, "4/h", one.Stats().Limits.String())

	p.Store, p.Share = quota.NewMemoryStore(nil), 0.5
	half, err := guard.New(p)
	require.NoError(t, err)
	assert.Equal(t, "2/h", half.Stats().Limits.String())
}
