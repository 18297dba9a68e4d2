package presets_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/throttle"
)

func lookup(t *testing.T, name string) presets.Profile {
	t.Helper()
	p, err := presets.Lookup(name)
	require.NoError(t, err)
	return p
}

func TestPriorIsPaceAndNotQuota(t *testing.T) {
	for name, want := range map[string]string{
		"openai/tier1/gpt-4o-mini":           "500/min, 200000 tokens/min",
		"gemini/free/gemini-3.6-flash":       "5/min, 250000 input tokens/min",
		"github/authenticated/rest":          "5000/h",
		"cohere/trial/embed":                 "2000 points/min",
		"groq/free/whisper-large-v3":         "20/min, 7200 points/h",
		"shopify/standard/rest-admin":        "bucket 2/s burst 40",
		"generic/conservative":               "20/min, 2 concurrent",
		"aws-bedrock/default/bedrock-mantle": "unlimited",
	} {
		assert.Equal(t, want, lookup(t, name).Prior().String(), "%s", name)
	}
}

func TestHardAreTheRulesOfPoliteness(t *testing.T) {
	for id, p := range presets.Default().All() {
		hard := p.Provider == "generic" || p.Provider == "arxiv" || p.Provider == "osm-nominatim" || p.Provider == "sec-edgar"
		assert.Equal(t, hard, p.Hard, "%s", id)
	}
	assert.True(t, lookup(t, "arxiv/any").Hard, "a tier of hard rows is hard")
}

func TestScaled(t *testing.T) {
	p, err := lookup(t, "openai/tier1/gpt-4o-mini").Scaled(0.29)
	require.NoError(t, err)
	assert.Equal(t, "145/min, 2900/day, 58000 tokens/min", p.Limits.String())
	assert.EqualValues(t, 2_000_000, p.Extra["batch_queue_tokens"])
	assert.EqualValues(t, 500, lookup(t, "openai/tier1/gpt-4o-mini").Limits.Windows[0].Max(), "a copy")

	p, err = lookup(t, "gemini/free/gemini-3.6-flash").Scaled(1.0 / 3)
	require.NoError(t, err)
	assert.Equal(t, "1/min, fixed 6/day@America/Los_Angeles, 83333 input tokens/min", p.Limits.String())

	p, err = lookup(t, "shopify/standard/rest-admin").Scaled(0.5)
	require.NoError(t, err)
	assert.Equal(t, "bucket 1/s burst 20", p.Limits.String())

	p, err = lookup(t, "arxiv/any").Scaled(0.01)
	require.NoError(t, err)
	assert.Equal(t, "1/3s, 1/min, 1 concurrent", p.Limits.String(), "1 is the least")

	for _, share := range []float64{0, -1, 1.0001, 80, math.NaN(), math.Inf(1)} {
		_, err := p.Scaled(share)
		var field *fault.FieldError
		require.ErrorAs(t, err, &field)
		assert.Equal(t, "Scaled", field.Field)
	}
	odd := presets.Profile{ID: "a/b", Limits: throttle.Limits{Windows: []throttle.Window{{}}}}
	_, err = odd.Scaled(0.5)
	require.ErrorContains(t, err, "presets: a/b: Limits: throttle: Windows[0]: the window is empty")
}

func TestScaledProperties(t *testing.T) {
	var all []presets.Profile
	for _, p := range presets.Default().All() {
		all = append(all, p)
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(all).Draw(t, "preset")
		if rapid.Bool().Draw(t, "own") {
			w := throttle.Fixed(rapid.Int64Range(1, throttle.MaxAmount).Draw(t, "max"), time.Duration(rapid.Int64Range(1, 1e15).Draw(t, "per")), time.Time{})
			p.Limits.Windows = []throttle.Window{w.Of(throttle.Unit(rapid.IntRange(0, 4).Draw(t, "unit")))}
		}
		share := rapid.Float64Range(1e-6, 1).Draw(t, "share")
		q, err := p.Scaled(share)
		require.NoError(t, err)
		require.NoError(t, q.Limits.Validate())
		require.Len(t, q.Limits.Windows, len(p.Limits.Windows))
		within := func(n, of int64) {
			exact := share * float64(of)
			assert.LessOrEqual(t, float64(n), math.Max(1, exact*(1+1e-12)))
			assert.Greater(t, float64(n), exact*(1-1e-12)-1)
			assert.GreaterOrEqual(t, n, int64(1))
		}
		for i, w := range q.Limits.Windows {
			was := p.Limits.Windows[i]
			within(w.Max(), was.Max())
			assert.Equal(t, was.Unit(), w.Unit())
			if !strings.HasPrefix(w.String(), "bucket") {
				assert.InEpsilon(t, float64(was.Max())/was.Rate(), float64(w.Max())/w.Rate(), 1e-9)
				assert.Equal(t, strings.SplitN(was.String(), "/", 2)[1], strings.SplitN(w.String(), "/", 2)[1])
			} else {
				assert.InEpsilon(t, was.Rate()*share, w.Rate(), 1e-12)
			}
		}
		if n := p.Limits.Concurrency; n > 0 {
			within(int64(q.Limits.Concurrency), int64(n))
		}
		whole, err := p.Scaled(1)
		require.NoError(t, err)
		assert.Equal(t, p.Limits.String(), whole.Limits.String())
	})
}

func TestDatesAndAge(t *testing.T) {
	at := func(s string) time.Time {
		d, err := time.Parse(time.DateOnly, s)
		require.NoError(t, err)
		return d
	}
	for _, tc := range []struct {
		name, date string
		asOf       string
	}{
		{"openai/tier1/gpt-4o-mini", "2026-09-24", "2026-09-24"},
		{"openai/tier1/gpt-5.5", "2026-07", "2026-07-01"},
		{"ncbi-eutils/no-key/all", "2025", "2025-01-01"},
	} {
		p := lookup(t, tc.name)
		assert.Equal(t, tc.date, p.Date())
		assert.Equal(t, at(tc.asOf), p.AsOf)
		assert.False(t, p.Stale(p.AsOf.Add(365*24*time.Hour)))
		assert.True(t, p.Stale(p.AsOf.Add(365*24*time.Hour+1)))
		assert.False(t, p.Stale(p.AsOf.Add(-time.Hour)), "a clock that is behind")
	}
}

func TestErrorsOfLookupCanBeTold(t *testing.T) {
	_, err := presets.ID("nobody/x").Profile()
	_, unknown := errors.AsType[*presets.UnknownError](err)
	assert.True(t, unknown)
}
