package settings_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
)

func TestWithoutPassword(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"sqlite:limits.db":        "sqlite:limits.db",
		"redis://":                "redis://",
		"redis://h:6379/0":        "redis://h:6379/0",
		"redis://u@h":             "redis://u@h",
		"rediss://u:secret@h/0?x": "rediss://u:xxxxx@h/0?x",
		"redis://u:sec ret@h/0":   "redis://...",
		"redis://u:sec/ret@h":     "redis://...",
		"redis://u:sec#ret@h":     "redis://...",
		"redis://sec/ret@h":       "redis://...",
	} {
		assert.Equal(t, want, settings.WithoutPassword(address), address)
	}
}

// A run has hundreds of workers, which would all call before anything is known of the limits.
func TestARunOfUnknownLimitsStartsWithAFewCalls(t *testing.T) {
	t.Parallel()
	few := adaptive.Measured{Initial: 32}
	for name, tc := range map[string]struct {
		set  func(f *settings.Flags)
		want adaptive.Law
	}{
		"nothing is known": {func(*settings.Flags) {}, few},
		"measured":         {func(f *settings.Flags) { f.Law = "measured" }, few},
		"a preset":         {func(f *settings.Flags) { f.Preset = "openai/tier1" }, nil},
		"a rate":           {func(f *settings.Flags) { f.RPM = new(int64(60)) }, nil},
		"a cap":            {func(f *settings.Flags) { f.Concurrency = new(8) }, nil},
		"aimd":             {func(f *settings.Flags) { f.Law = "aimd" }, adaptive.AIMD{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := usual()
			tc.set(&f)
			r, err := settings.Resolve(f, func(string) string { return "secret" })
			require.NoError(t, err)
			g, end, err := r.Guard(nil, nil)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, end()) })
			assert.Equal(t, tc.want, g.Policy().Law)
		})
	}
}
