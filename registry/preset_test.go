package registry_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

// What a preset says is a rule is kept besides limits of one's own, the least of each.
func TestTheCapsOfAPresetAreKept(t *testing.T) {
	mine := table(t,
		presets.Profile{ID: "mine/rule", Limits: limits(t, "10/min, 2 concurrent"), Hard: true},
		presets.Profile{ID: "mine/pace", Limits: limits(t, "10/min, 2 concurrent")},
	)
	for about, tc := range map[string]struct {
		spec   registry.Spec
		limits string
	}{
		"a rule":              {registry.Spec{Preset: "mine/rule"}, "10/min, 2 concurrent"},
		"and more":            {registry.Spec{Preset: "mine/rule", Limits: limits(t, "1000/min, 50 concurrent")}, "1000/min, 10/min, 2 concurrent"},
		"and less":            {registry.Spec{Preset: "mine/rule", Limits: limits(t, "1 concurrent")}, "10/min, 1 concurrent"},
		"with a law":          {registry.Spec{Preset: "mine/rule", Law: registry.Fixed, Limits: limits(t, "50 concurrent")}, "10/min, 2 concurrent"},
		"only a pace":         {registry.Spec{Preset: "mine/pace", Limits: limits(t, "50 concurrent")}, "50 concurrent"},
		"a pace with aimd":    {registry.Spec{Preset: "mine/pace", Law: registry.AIMD, Limits: limits(t, "50 concurrent")}, "10/min, 2 concurrent"},
		"a share of a rule":   {registry.Spec{Preset: "mine/rule", Share: 0.5, Limits: limits(t, "50 concurrent")}, "5/min, 1 concurrent"},
		"the embedded polite": {registry.Spec{Preset: presets.ScrapingPolite, Limits: limits(t, "50 concurrent")}, "10/min, 2 concurrent"},
	} {
		r := newRegistry(t, registry.Config{Default: tc.spec, Presets: presets.Default().With(mine)})
		assert.Equal(t, tc.limits, r.For("x").Stats().Limits.String(), about)
	}
}

func table(t *testing.T, rows ...presets.Profile) *presets.Table {
	t.Helper()
	tab, err := presets.New(rows...)
	require.NoError(t, err)
	return tab
}

func TestPresetsOfOnesOwn(t *testing.T) {
	mine := table(t, presets.Profile{ID: "mine/free", Limits: limits(t, "7/min")})
	own := registry.Config{Default: registry.Spec{Preset: "Mine/Free", Law: registry.Fixed}}
	embedded := registry.Config{Default: registry.Spec{Preset: presets.OpenAITier1}}
	assert.ErrorAs(t, own.Validate(), new(*presets.UnknownError))
	assert.NoError(t, embedded.Validate())
	own.Presets, embedded.Presets = mine, mine
	assert.NoError(t, own.Validate())
	assert.ErrorAs(t, embedded.Validate(), new(*presets.UnknownError), "in the place of the embedded ones")
	assert.Equal(t, "7/min", newRegistry(t, own).For("x").Stats().Limits.String())

	text := []byte(`{"default": {"preset": "mine/free", "law": "fixed"}}`)
	_, err := registry.ParseJSON(text)
	assert.ErrorAs(t, err, new(*presets.UnknownError))
	c, err := registry.ParseJSON(text, mine)
	require.NoError(t, err)
	require.NoError(t, c.Validate())
	assert.Equal(t, "7/min", newRegistry(t, c).For("x").Stats().Limits.String(), "the Config remembers them")
	c.Presets = table(t, presets.Profile{ID: "mine/free", Limits: limits(t, "8/min")})
	assert.Equal(t, "8/min", newRegistry(t, c).For("x").Stats().Limits.String())
	_, err = registry.ParseJSON([]byte(`{"default": {"preset": "openai/tier1"}}`), mine)
	require.NoError(t, err, "beside the embedded ones")
}

// A preset that no controller accepts is detected before any call waits for its limiter.
func TestAPresetThatNoLawTakes(t *testing.T) {
	mine := table(t, presets.Profile{ID: "mine/huge", Limits: limits(t, "2000000000 concurrent")})
	_, err := registry.New(registry.Config{Default: registry.Spec{Preset: "mine/huge"}, Presets: mine})
	assert.ErrorContains(t, err, "default.law: adaptive: ")
}

// The first call of each process, whatever guard it is made by, reports a stale preset.
func TestAStalePresetIsReportedOnce(t *testing.T) {
	old := presets.ID("registry-test/" + strings.ToLower(rand.Text())) // a process may run this test twice
	mine := table(t,
		presets.Profile{ID: old, Limits: limits(t, "7/min"), AsOf: time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)},
		presets.Profile{ID: "registry-test/new", Limits: limits(t, "7/min"), AsOf: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)},
	)
	clock := clockwork.NewFakeClockAt(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	var told []event.Event
	r := newRegistry(t, registry.Config{Guards: map[string]registry.Spec{
		"a": {Preset: "registry-test/new"},
		"b": {Preset: old},
		"c": {Preset: old},
	}, Presets: mine, Clock: clock, Observer: event.Func(func(e event.Event) { told = append(told, e) })})
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, do(t.Context(), r.Get(name), func(context.Context) error { return nil }))
	}
	require.Len(t, told, 1)
	assert.Equal(t, event.LimiterStalePreset, told[0].Kind)
	assert.Equal(t, "b", told[0].Source)
	assert.Equal(t, string(old), told[0].Key)
	assert.Contains(t, told[0].Reason, "the preset is of 2020-01-02: compare it with the provider's current limits")
}

func TestANewRegistryIsItsOwn(t *testing.T) {
	windows := []throttle.Window{throttle.Sliding(5, time.Second)}
	c := registry.Config{Default: registry.Spec{Limits: throttle.Limits{Windows: windows}}}
	r := newRegistry(t, c)
	windows[0] = throttle.Sliding(9, time.Second)
	assert.Equal(t, "5/s", r.For("x").Stats().Limits.String())
}
