package gateway

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/presets"
)

func usual() Flags { return Flags{MaxQueue: 10, MaxWait: time.Minute, MaxBody: "16MiB"} }

func TestConfig(t *testing.T) {
	t.Parallel()
	f := usual()
	f.Upstream, f.Weight, f.MaxBody = []string{"local=http://127.0.0.1:9000/a=b"}, []string{"nightly=0.5"}, "2 KiB"
	f.Preset = []string{"openai/tier1", "anthropic/tier1"}
	c, err := f.Config()
	require.NoError(t, err)
	assert.Equal(t, "http://127.0.0.1:9000/a=b", c.Upstreams["local"].URL)
	assert.InDelta(t, 0.5, c.Weights["nightly"], 0)
	assert.EqualValues(t, 2048, c.MaxBody)
	assert.Equal(t, presets.ID("openai/tier1"), c.Upstreams["openai"].Preset)
	assert.Equal(t, presets.ID("anthropic/tier1"), c.Upstreams["anthropic"].Preset)
	assert.Empty(t, c.Upstreams["local"].Preset)

	f.Preset = f.Preset[:1]
	c, err = f.Config()
	require.NoError(t, err)
	assert.Equal(t, presets.ID("openai/tier1"), c.Preset, "one alone is for own upstreams, too")
}

// All that is wrong names its flag.
func TestConfigErrors(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Flags){
		"--upstream: one of them is not NAME=URL":   func(f *Flags) { f.Upstream = []string{"sk-secret"} },
		"--upstream: \"a1\" is given twice":         func(f *Flags) { f.Upstream = []string{"a1=http://h", "a1=http://i"} },
		"--upstream: a1: \"ftp://h\" is not an":     func(f *Flags) { f.Upstream = []string{"a1=ftp://h"} },
		"--upstream: a/b: not a name":               func(f *Flags) { f.Upstream = []string{"a/b=http://h"} },
		"--preset: there is no preset":              func(f *Flags) { f.Preset = []string{"openai/tier9"} },
		"belong to the same provider":               func(f *Flags) { f.Preset = []string{"openai/tier1", "openai/tier2"} },
		"--max-queue: 0 is below 1":                 func(f *Flags) { f.MaxQueue = 0 },
		"--max-wait: 0s is not positive":            func(f *Flags) { f.MaxWait = 0 },
		"--max-body: \"lots\" is not a size":        func(f *Flags) { f.MaxBody = "lots" },
		"--max-body: \"-1MiB\" is not a size":       func(f *Flags) { f.MaxBody = "-1MiB" },
		"--weight: \"x\" is not NAME=N":             func(f *Flags) { f.Weight = []string{"x"} },
		"--weight: \"x\" is given twice":            func(f *Flags) { f.Weight = []string{"x=1", "x=2"} },
		"--weight: x: -1 is not a weight":           func(f *Flags) { f.Weight = []string{"x=-1"} },
		"--heartbeat: 1ms is less than 1s":          func(f *Flags) { f.Heartbeat = time.Millisecond },
		"--max-wait: -1s is not positive\n--upstre": func(f *Flags) { f.MaxWait, f.Upstream = -time.Second, []string{"="} },
	} {
		f := usual()
		change(&f)
		_, err := f.Config()
		require.ErrorContains(t, err, want)
		assert.True(t, errors.As(err, new(*settings.Error)))
		assert.NotContains(t, err.Error(), "secret")
	}
}
