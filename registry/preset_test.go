package registry_test

import (
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
		spec        registry.Spec
		limits      string
		concurrency int
	}{
		"a rule":              {registry.Spec{Preset: "mine/rule"}, "10/min, 2 concurrent", 2},
		"and more":            {registry.Spec{Preset: "mine/rule", Limits: limits(t, "1000/min, 50 concurrent")}, "1000/min, 10/min, 2 concurrent", 2},
		"and less":            {registry.Spec{Preset: "mine/rule", Limits: limits(t, "1 concurrent")}, "10/min, 1 concurrent", 1},
		"with a law":          {registry.Spec{Preset: "mine/rule", Law: registry.Fixed, Limits: limits(t, "50 concurrent")}, "10/min, 2 concurrent", 2},
		"only a pace":         {registry.Spec{Preset: "mine/pace", Limits: limits(t, "50 concurrent")}, "50 concurrent", 50},
		"a pace with aimd":    {registry.Spec{Preset: "mine/pace", Law: registry.AIMD, Limits: limits(t, "50 concurrent")}, "10/min, 2 concurrent", 2},
		"a share of a rule":   {registry.Spec{Preset: "mine/rule", Share: 0.5, Limits: limits(t, "50 concurrent")}, "5/min, 1 concurrent", 1},
		"the embedded polite": {registry.Spec{Preset: presets.ScrapingPolite, Limits: limits(t, "50 concurrent")}, "10/min, 2 concurrent", 2},
	} {
		r := newRegistry(t, registry.Config{Default: tc.spec}, registry.WithPresets(presets.Default().With(mine)))
		l := r.For("x", "")
		assert.Equal(t, tc.limits, l.Throttle().Limits().String(), about)
		assert.Equal(t, tc.concurrency, l.View().Concurrency, about)
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
	assert.NoError(t, own.Validate(registry.WithPresets(mine)))
	assert.NoError(t, embedded.Validate(registry.WithPresets(nil)))
	assert.ErrorAs(t, embedded.Validate(registry.WithPresets(mine)), new(*presets.UnknownError), "in the place of the embedded ones")
	assert.Equal(t, "7/min", newRegistry(t, own, registry.WithPresets(mine)).For("x", "").Throttle().Limits().String())

	text := []byte(`{"default": {"preset": "mine/free", "law": "fixed"}}`)
	_, err := registry.ParseJSON(text)
	assert.ErrorAs(t, err, new(*presets.UnknownError))
	c, err := registry.ParseJSON(text, registry.WithPresets(mine))
	require.NoError(t, err)
	require.NoError(t, c.Validate())
	assert.Equal(t, "7/min", newRegistry(t, c).For("x", "").Throttle().Limits().String(), "the Config remembers them")
	other := table(t, presets.Profile{ID: "mine/free", Limits: limits(t, "8/min")})
	assert.Equal(t, "8/min", newRegistry(t, c, registry.WithPresets(other)).For("x", "").Throttle().Limits().String())
}

// What no law takes is found before anybody waits for a limiter of it.
func TestAPresetThatNoLawTakes(t *testing.T) {
	mine := table(t, presets.Profile{ID: "mine/huge", Limits: limits(t, "2000000000 concurrent")})
	for _, law := range []registry.Law{registry.Measured, registry.Fixed} {
		_, err := registry.New(registry.Config{Default: registry.Spec{Preset: "mine/huge", Law: law}}, registry.WithPresets(mine))
		assert.ErrorContains(t, err, "default.preset: adaptive: ", "%s", law)
	}
}

func TestNewTellsOfAStalePresetOnce(t *testing.T) {
	old := presets.ID("registry-test/" + strings.ToLower(rand.Text())) // a process may run this test twice
	mine := table(t,
		presets.Profile{ID: old, Limits: limits(t, "7/min"), AsOf: time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)},
		presets.Profile{ID: "registry-test/new", Limits: limits(t, "7/min"), AsOf: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)},
	)
	clock := clockwork.NewFakeClockAt(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	var told []event.Event
	tell := registry.WithObserver(event.Func(func(e event.Event) { told = append(told, e) }))
	c := registry.Config{Services: map[string]registry.Service{
		"a": {Spec: registry.Spec{Preset: "registry-test/new"}},
		"b": {Hosts: map[string]registry.Spec{"*": {Preset: old}}},
		"c": {Spec: registry.Spec{Preset: old}},
	}}
	newRegistry(t, c, registry.WithPresets(mine), registry.WithClock(clock)) // nobody hears it, and nothing is told
	bad := c
	bad.Default.MaxWait = -1
	_, err := registry.New(bad, registry.WithPresets(mine), registry.WithClock(clock), tell)
	require.Error(t, err)
	require.Empty(t, told)
	for range 2 {
		newRegistry(t, c, registry.WithPresets(mine), registry.WithClock(clock), tell)
	}
	e := event.New(clock.Now(), event.LimiterStalePreset, "b/*")
	e.Key = string(old)
	e.Reason = "the preset is of 2020-01-02: compare it with what the provider says now"
	require.Len(t, told, 1)
	assert.Contains(t, told[0].Reason, e.Reason)
	told[0].Reason = e.Reason
	assert.Equal(t, e, told[0])
}

func TestANewRegistryIsItsOwn(t *testing.T) {
	windows := []throttle.Window{throttle.Sliding(5, time.Second)}
	c := registry.Config{Default: registry.Spec{Limits: throttle.Limits{Windows: windows}}}
	r := newRegistry(t, c)
	windows[0] = throttle.Sliding(9, time.Second)
	assert.Equal(t, "5/s", r.For("x", "").Throttle().Limits().String())
}
