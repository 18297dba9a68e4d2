package presets_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// raw are the rows as encoding/json sees them, without any of the package's code.
func raw(t *testing.T) []map[string]any {
	t.Helper()
	data, err := os.ReadFile("facts.json")
	require.NoError(t, err)
	var f struct{ Presets []map[string]any }
	require.NoError(t, json.Unmarshal(data, &f))
	require.Len(t, f.Presets, 522)
	return f.Presets
}

// amounts lists the windows of one unit and length, as far as they hold.
func amounts(l throttle.Limits, u throttle.Unit, per time.Duration) (found []int64) {
	for _, w := range l.Windows {
		length := time.Duration(float64(w.Max()) / w.Rate() * float64(time.Second)).Round(time.Millisecond)
		if w.Unit() == u && length == per {
			found = append(found, w.Max())
		}
	}
	return found
}

var meaning = map[string]struct {
	unit throttle.Unit
	per  time.Duration
}{
	"rps": {throttle.Requests, time.Second}, "per_10s": {throttle.Requests, 10 * time.Second}, "rpm": {throttle.Requests, time.Minute},
	"per_5min": {throttle.Requests, 5 * time.Minute}, "rph": {throttle.Requests, time.Hour}, "rpd": {throttle.Requests, 24 * time.Hour},
	"per_month": {throttle.Requests, 31 * 24 * time.Hour},
	"tpm":       {throttle.Tokens, time.Minute}, "tpd": {throttle.Tokens, 24 * time.Hour},
	"itpm": {throttle.InputTokens, time.Minute}, "uncached_itpm": {throttle.InputTokens, time.Minute}, "otpm": {throttle.OutputTokens, time.Minute},
	"points_per_s": {throttle.Points, time.Second}, "points_per_min": {throttle.Points, time.Minute}, "ipm": {throttle.Points, time.Minute},
	"inputs_per_min": {throttle.Points, time.Minute}, "audio_s_per_hour": {throttle.Points, time.Hour}, "audio_s_per_day": {throttle.Points, 24 * time.Hour},
}

func TestEveryNumberOfEveryRowIsInItsProfile(t *testing.T) {
	for _, row := range raw(t) {
		p, err := presets.Lookup(row["id"].(string))
		if row["kind"] == "unavailable" {
			require.Error(t, err)
		} else {
			require.NoError(t, err)
		}
		require.NoError(t, p.Limits.Validate(), "%s", p.ID)
		read, err := throttle.ParseLimits(p.Limits.String())
		require.NoError(t, err, "%s", p.ID)
		assert.Equal(t, p.Limits.String(), read.String(), "%s", p.ID)
		_, err = p.Limits.MarshalText()
		require.NoError(t, err, "%s", p.ID)

		for key, v := range row {
			number, ok := v.(float64)
			n := int64(number)
			_, bursting := row["burst"]
			unit := meaning[key].unit
			if key == "tpm" && row["counts"] == "input tokens" {
				unit = throttle.InputTokens
			}
			switch {
			case !ok:
			case key == "concurrency":
				assert.EqualValues(t, n, p.Limits.Concurrency, "%s", p.ID)
			case key == "min_interval_s":
				assert.Contains(t, amounts(p.Limits, throttle.Requests, time.Duration(n)*time.Second), int64(1), "%s", p.ID)
			case key == "burst":
				assert.Contains(t, p.Limits.String(), "burst", "%s", p.ID)
			case bursting && key == "rps":
				assert.InDelta(t, number, p.Limits.Windows[0].Rate(), 1e-12)
			case meaning[key].per > 0:
				assert.Contains(t, amounts(p.Limits, unit, meaning[key].per), n, "%s %s", p.ID, key)
			default:
				assert.Equal(t, n, p.Extra[key], "%s %s", p.ID, key)
			}
		}
		assert.Equal(t, row["main"] == true, p.Main)
		assert.Equal(t, row["dated"] == "estimated", p.Estimated)
		assert.Equal(t, row["as_of"], p.Date())
		assert.Equal(t, row["confidence"], string(p.Confidence))
		if model := row["model"].(string); strings.Count(string(p.ID), "/") == 2 {
			byModel, _ := presets.Lookup(p.Provider + "/" + p.Tier + "/" + strings.ToUpper(model))
			assert.Equal(t, p.ID, byModel.ID)
		}
	}
}

// The least of each unit, reckoned from the numbers of the file.
func TestATierIsTheLeastOfItsMainRows(t *testing.T) {
	least := map[string]map[string]int64{}
	isRow := map[string]bool{}
	for _, row := range raw(t) {
		isRow[row["id"].(string)] = true
		tier := row["provider"].(string) + "/" + row["tier"].(string)
		if row["main"] != true || row["kind"] != nil {
			continue
		}
		if least[tier] == nil {
			least[tier] = map[string]int64{}
		}
		for key, v := range row {
			if n, ok := v.(float64); ok {
				if have, ok := least[tier][key]; !ok || int64(n) < have {
					least[tier][key] = int64(n)
				}
			}
		}
	}
	require.Greater(t, len(least), 80)
	for tier, numbers := range least {
		if isRow[tier] {
			continue
		}
		p, err := presets.Lookup(strings.ToUpper(tier))
		require.NoError(t, err, "%s", tier)
		assert.Equal(t, presets.ID(tier), p.ID)
		assert.Empty(t, p.Model)
		assert.EqualValues(t, numbers["concurrency"], p.Limits.Concurrency, "%s", tier)
		for key, n := range numbers {
			unit := meaning[key].unit
			if key == "tpm" && p.Provider == "gemini" {
				unit = throttle.InputTokens
			}
			if meaning[key].per == 0 || numbers["burst"] > 0 || strings.HasSuffix(key, "itpm") && numbers["uncached_itpm"] > 0 {
				continue
			}
			assert.Equal(t, []int64{n}, amounts(p.Limits, unit, meaning[key].per), "%s %s", tier, key)
		}
	}
}

func TestTiersThatHaveNoMainRows(t *testing.T) {
	p, err := presets.Lookup("aws-bedrock/default")
	require.NoError(t, err, "info rows alone")
	assert.Equal(t, presets.KindInfo, p.Kind)
	assert.Equal(t, throttle.Limits{}, p.Limits)
	assert.Contains(t, p.Notes, "Service Quotas")

	_, err = presets.Lookup("azure-openai/default")
	var unknown *presets.UnknownError
	require.ErrorAs(t, err, &unknown, "limits that hold for no other model")
	assert.Equal(t, []presets.ID{"azure-openai/default/dall-e-2", "azure-openai/default/dall-e-3", "azure-openai/default/speech-to-text"}, unknown.Near)
}

func TestATierOfOnePoolKeepsIt(t *testing.T) {
	p, err := presets.Lookup("jina/free-key")
	require.NoError(t, err)
	assert.Equal(t, "jina/free-key/embeddings-rerank", p.Pool)
	p, err = presets.OpenAITier1.Profile()
	require.NoError(t, err)
	assert.Equal(t, "openai/tier1", p.Pool)
	assert.Contains(t, p.Notes, "the least of gpt-5,")
}

func TestAProfileSaysHowOldTheOldestOfItsRowsIs(t *testing.T) {
	p, err := presets.AnthropicStart.Profile()
	require.NoError(t, err)
	assert.Equal(t, "2026-08", p.Date(), "Opus 5.5 is of October")
	assert.Equal(t, presets.Medium, p.Confidence, "and of medium confidence, the others of high")
}

func TestEveryConstantAndTierIsFound(t *testing.T) {
	var last presets.ID
	for id, p := range presets.Default().Tiers() {
		found, err := id.Profile()
		require.NoError(t, err)
		assert.Equal(t, p, found)
		assert.Less(t, last, id)
		last = id
	}
	for _, id := range []presets.ID{presets.OpenAITier1, presets.GenericConservative, presets.ScrapingPolite, presets.FlowAggressive, presets.AWSBedrockDefault} {
		_, err := id.Profile()
		require.NoError(t, err)
	}
}

func TestAllIsSortedAndProvidersAreThose(t *testing.T) {
	var ids []presets.ID
	providers := map[string]bool{}
	for id, p := range presets.Default().All() {
		assert.Equal(t, id, p.ID)
		ids = append(ids, id)
		providers[p.Provider] = true
	}
	assert.Len(t, ids, 522)
	assert.True(t, slices.IsSorted(ids))
	assert.Equal(t, slices.Sorted(maps.Keys(providers)), presets.Default().Providers())
	for range presets.Default().All() {
		break
	}
	for range presets.Default().Tiers() {
		break
	}
}

func TestTheTableCannotBeChangedThroughAProfile(t *testing.T) {
	p, err := presets.OpenAITier1.ForModel("gpt-4o-mini")
	require.NoError(t, err)
	p.Limits.Windows[0] = throttle.Sliding(1, time.Hour)
	p.Extra["batch_queue_tokens"] = 1
	for id, q := range presets.Default().All() {
		if id == p.ID {
			assert.NotEqual(t, p.Limits.String(), q.Limits.String())
			q.Limits.Windows[0] = throttle.Sliding(1, time.Hour)
		}
	}
	tier, err := presets.OpenAITier1.Profile()
	require.NoError(t, err)
	tier.Limits.Windows[0] = throttle.Sliding(1, time.Hour)
	for _, id := range []presets.ID{p.ID, presets.OpenAITier1} {
		again, err := id.Profile()
		require.NoError(t, err)
		assert.EqualValues(t, 500, again.Limits.Windows[0].Max())
		assert.NotEqualValues(t, 1, again.Extra["batch_queue_tokens"])
	}
}

func TestTheTableIsReadByManyAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := presets.Lookup("openai/tier1")
			assert.NoError(t, err)
			for range presets.Default().All() {
				continue
			}
		})
	}
	wg.Wait()
}

func TestNew(t *testing.T) {
	windows := []throttle.Window{throttle.Sliding(9, time.Second)}
	own := presets.Profile{ID: "acme/pro/meta-llama/llama-9", Model: "meta-llama/Llama-9", Limits: throttle.Limits{Windows: windows}}
	table, err := presets.New(own, presets.Profile{ID: "openai/ours", Kind: presets.KindInfo, Dialect: "GitHub"})
	require.NoError(t, err)
	windows[0] = throttle.Sliding(1, time.Hour)

	p, err := table.Lookup("Acme/Pro/Meta-Llama/Llama-9")
	require.NoError(t, err)
	assert.Equal(t, "9/s", p.Limits.String(), "it is a copy")
	assert.Equal(t, "acme", p.Provider)
	assert.Equal(t, "pro", p.Tier)
	assert.Equal(t, "meta-llama/Llama-9", p.Model)
	assert.Equal(t, "acme/pro/meta-llama/llama-9", p.Pool)
	assert.Equal(t, presets.KindLimits, p.Kind)
	assert.Equal(t, dialect.Auto, p.Dialect)
	assert.Empty(t, p.Date())
	assert.False(t, p.Stale(time.Now()), "nobody knows")

	p, err = presets.GenericConservative.Profile()
	require.NoError(t, err)
	assert.Equal(t, dialect.Auto, p.Dialect, "nobody in particular")
	p, err = table.Lookup("openai/ours")
	require.NoError(t, err)
	assert.Equal(t, dialect.GitHub, p.Dialect, "what was given, as it is spelt there")

	_, err = presets.New(
		presets.Profile{ID: "a"}, presets.Profile{ID: "a/b"}, presets.Profile{ID: "a/b", Kind: presets.KindInfo},
		presets.Profile{ID: "a/c", Limits: throttle.Limits{Concurrency: -1}}, presets.Profile{ID: "a/d", Kind: "x"},
		presets.Profile{ID: "a/e", Kind: presets.KindInfo, Confidence: "sure"}, presets.Profile{ID: "a/f", Kind: presets.KindInfo, Dialect: "klingon"},
	)
	for _, want := range []string{
		`presets: row 1 (a): id: "a" is not provider/tier/model or provider/tier`,
		"presets: row 2 (a/b): it limits nothing", "presets: row 3 (a/b): id: row 2 has it already",
		"presets: row 4 (a/c): Limits: throttle: Concurrency: -1 is negative", `presets: row 5 (a/d): kind: "x" is not a kind`,
		`row 6 (a/e): confidence: "sure"`, "row 7 (a/f): dialect: ",
	} {
		assert.ErrorContains(t, err, want)
	}
}

func TestWith(t *testing.T) {
	main := throttle.Limits{Windows: []throttle.Window{throttle.Sliding(7, time.Minute)}}
	ours, err := presets.New(
		presets.Profile{ID: "openai/tier1/gpt-5", Limits: main, Main: true},
		presets.Profile{ID: "acme/pro", Limits: main},
	)
	require.NoError(t, err)
	last, err := presets.New(presets.Profile{ID: "acme/pro", Limits: throttle.Limits{Concurrency: 3}})
	require.NoError(t, err)
	table := presets.Default().With(ours, nil, last)

	p, err := table.Lookup("openai/tier1")
	require.NoError(t, err)
	assert.Equal(t, []int64{7}, amounts(p.Limits, throttle.Requests, time.Minute), "the tier is reckoned anew")
	p, err = table.Lookup("acme/pro")
	require.NoError(t, err)
	assert.Equal(t, "3 concurrent", p.Limits.String(), "the last one wins")

	p, err = presets.OpenAITier1.Profile()
	require.NoError(t, err)
	assert.Equal(t, []int64{500}, amounts(p.Limits, throttle.Requests, time.Minute), "the default is what it was")
	assert.Contains(t, table.Providers(), "acme")

	silent, err := presets.New(presets.Profile{ID: "openai/tier1/gpt-5", Limits: main}, presets.Profile{ID: "openai/tier1/gpt-4.1", Limits: main})
	require.NoError(t, err)
	table = presets.Default().With(silent)
	p, err = table.Lookup("openai/tier1")
	require.NoError(t, err)
	assert.Equal(t, []int64{7}, amounts(p.Limits, throttle.Requests, time.Minute), "a row of a tier stays one")
	p, err = table.With(silent).Lookup("openai/tier1/gpt-5")
	require.NoError(t, err)
	assert.True(t, p.Main)
	p, err = silent.Lookup("openai/tier1/gpt-5")
	require.NoError(t, err)
	assert.False(t, p.Main, "the user's table is what it was")

	_, err = new(presets.Table).Lookup("x")
	assert.EqualError(t, err, `presets: unknown preset "x": names are provider/tier/model or provider/tier; docs/presets.md and All list them`)
}

func TestUnavailableComesWithAnError(t *testing.T) {
	p, err := presets.Lookup("gemini/free/gemini-3.1-pro")
	assert.EqualError(t, err, "presets: gemini/free/gemini-3.1-pro cannot be called (429 says limit: 0): take another tier or model")
	assert.Equal(t, presets.KindUnavailable, p.Kind)
	assert.EqualError(t, &presets.UnavailableError{ID: "a/b"}, "presets: a/b cannot be called: take another tier or model")
}

func TestNear(t *testing.T) {
	tiers := "openai/tier1 openai/tier2 openai/tier3 openai/tier4 openai/tier5"
	minis := strings.ReplaceAll(tiers, " ", "/gpt-4o-mini ") + "/gpt-4o-mini"
	for name, want := range map[string]string{
		"openai/teir1":         "openai/tier1 azure-openai/tier1 openai/tier2 openai/tier3 openai/tier4",
		"openai/tier9":         tiers,
		"openai":               "openai/free openai/tier1 openai/tier2 openai/tier3 openai/tier4",
		"gpt-4o-mini":          minis,
		"opnai/gpt-4o-mini":    minis,
		"generic/consevrative": "generic/conservative generic/flow-conservative",
		"azure/tier1":          "azure-openai/tier1",
		"bedrock":              "aws-bedrock/default",
		"aws/default":          "aws-bedrock/default",
		"google/free":          "gemini/free",
		"hf/free":              "huggingface/free",
		"scraping/moderate":    "generic/scraping-moderate",
		"flow/conservative":    "generic/flow-conservative",
		"conservative":         "generic/conservative generic/flow-conservative",
		"groq/fere":            "groq/free",
	} {
		_, err := presets.Lookup(name)
		var unknown *presets.UnknownError
		require.ErrorAs(t, err, &unknown, "%s", name)
		assert.Equal(t, strings.Fields(want), strings.Fields(strings.Trim(fmt.Sprint(unknown.Near), "[]")), "%s", name)
	}
	_, err := presets.Lookup(strings.Repeat("openai/", 100))
	assert.Less(t, len(err.Error()), 250)
	var unknown *presets.UnknownError
	require.ErrorAs(t, err, &unknown)
	assert.Empty(t, unknown.Near)
	_, err = presets.Lookup("openai/tier1/gpt-4o-mini-")
	assert.ErrorContains(t, err, `presets: unknown preset "openai/tier1/gpt-4o-mini-": did you mean openai/tier1/gpt-4o-mini or `)
}

func TestATierIsAsOldAsUnsureAndAsHardAsItsWorstRow(t *testing.T) {
	per := func(n int64) throttle.Limits {
		return throttle.Limits{Windows: []throttle.Window{throttle.Sliding(n, time.Minute)}}
	}
	old := presets.Profile{
		ID: "a/b/old", Main: true, Limits: per(9), Hard: true, Confidence: presets.High,
		AsOf: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), Source: presets.Source{Title: "old"}, PointsUnit: "images",
	}
	young := old
	young.ID, young.Model, young.Limits, young.Hard, young.PointsUnit = "a/b/young", "young", per(8), false, "inputs"
	young.AsOf, young.Source.Title, young.Confidence = old.AsOf.AddDate(1, 0, 0), "young", presets.Low
	unsure := young
	unsure.ID, unsure.Model, unsure.AsOf, unsure.Confidence, unsure.Source.Title = "a/b/unsure", "unsure", old.AsOf, presets.Medium, "unsure"
	for _, rows := range [][]presets.Profile{{old, young}, {young, old}, {old, young, unsure}} {
		for _, prefix := range []string{"a", "z"} { // whichever comes first in the table
			rows := slices.Clone(rows)
			rows[0].ID, rows[0].Model = presets.ID("a/b/"+prefix), prefix
			table, err := presets.New(rows...)
			require.NoError(t, err)
			p, err := table.Lookup("a/b")
			require.NoError(t, err)
			assert.Equal(t, "8/min", p.Limits.String())
			assert.True(t, p.Hard)
			assert.Equal(t, old.AsOf, p.AsOf)
			assert.Equal(t, presets.Low, p.Confidence)
			assert.Equal(t, "points", p.PointsUnit, "of several kinds")
			if len(rows) == 3 {
				assert.Equal(t, "unsure", p.Source.Title, "the one to be doubted first")
			} else {
				assert.Equal(t, "old", p.Source.Title)
			}
		}
	}
}
