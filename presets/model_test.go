package presets_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/throttle"
)

func TestForModel(t *testing.T) {
	jan := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	row := func(id presets.ID) presets.Profile {
		return presets.Profile{
			ID: id, Limits: throttle.Limits{Concurrency: 1}, Source: presets.Source{Title: "test"}, AsOf: jan, Confidence: presets.High,
		}
	}
	closed := presets.Profile{
		ID: "a/t/closed", Kind: presets.KindUnavailable, Source: presets.Source{Title: "test"}, AsOf: jan, Confidence: presets.High,
	}
	table, err := presets.New(row("a/t/m-4o"), row("a/t/m-4o-mini"), row("a/t/c-sonnet-4.x"), row("a/t/c-haiku-4.5"), row("a/t/c-haiku-4.5-0101"),
		row("a/t/g-3.5"), row("a/t/latest"), row("a/u/m-5"), closed)
	require.NoError(t, err)
	for model, want := range map[string]presets.ID{
		"m-4o":                         "a/t/m-4o",
		"M-4O":                         "a/t/m-4o",
		"m-4o-2024-08-06":              "a/t/m-4o",
		"m-4o-mini-2024-07-18":         "a/t/m-4o-mini",
		"m-4o-latest":                  "a/t/m-4o",
		"m-4o-20240806":                "a/t/m-4o",
		"m-4o@20240806":                "a/t/m-4o",
		"m-4o-08-2024":                 "a/t/m-4o",
		"m-4o-0806":                    "a/t/m-4o",
		"m-4o-001":                     "a/t/m-4o",
		"m-4o-20240806-latest":         "a/t/m-4o",
		"c-sonnet-4-5-20250929":        "a/t/c-sonnet-4.x",
		"c-sonnet-4-20250514":          "a/t/c-sonnet-4.x",
		"c-sonnet-4.6":                 "a/t/c-sonnet-4.x",
		"c-haiku-4-5-20251001":         "a/t/c-haiku-4.5",
		"c-haiku-4-5-0101":             "a/t/c-haiku-4.5-0101",
		"g-3-5":                        "a/t/g-3.5",
		"models/m-4o":                  "a/t/m-4o",
		"publishers/p/models/m-4o-001": "a/t/m-4o",
		"ft:m-4o-2024-08-06:us:own:id": "a/t/m-4o",
		"ft:m-4o":                      "a/t/m-4o",
		"arn:aws:bedrock:us-east-1::foundation-model/m-4o": "a/t/m-4o",
		"other/m-4o":            "",
		"ft:":                   "",
		"models/":               "",
		"c-sonnet-40":           "",
		"c-sonnet-4-pro":        "",
		"c-sonnet-5":            "",
		"m-4o-audio":            "",
		"m-4o-audio-2024-08-06": "",
		"m-4o-20x40806":         "",
		"m-5":                   "",
		"closed":                "",
		"":                      "",
		"-latest":               "",
		"-001":                  "",
	} {
		p, err := table.ForModel("A/T", model)
		switch {
		case model == "closed":
			require.ErrorAs(t, err, new(*presets.UnavailableError))
			assert.Equal(t, closed.ID, p.ID)
		case want == "":
			require.ErrorAs(t, err, new(*presets.UnknownError), model)
			assert.Empty(t, p)
		default:
			require.NoError(t, err, model)
			assert.Equal(t, want, p.ID)
		}
	}
}

// Names that the providers' documents give for a request.
func TestForModelKnowsTheNamesOfToday(t *testing.T) {
	for _, c := range []struct{ provider, tier, model, want string }{
		{"openai", "tier1", "gpt-4o-2024-08-06", "gpt-4o"},
		{"openai", "tier1", "gpt-4o-mini-2024-07-18", "gpt-4o-mini"},
		{"openai", "tier3", "gpt-4.1-nano-2025-04-14", "gpt-4.1-nano"},
		{"openai", "tier1", "omni-moderation-latest", "omni-moderation"},
		{"anthropic", "tier1", "claude-sonnet-4-5-20250929", "claude-sonnet-4.x"},
		{"anthropic", "tier1", "claude-sonnet-4-20250514", "claude-sonnet-4.x"},
		{"anthropic", "tier1", "claude-haiku-4-5", "claude-haiku-4.5"},
		{"anthropic", "start", "claude-opus-4-1@20250805", "claude-opus-4.x"},
		{"cohere", "trial", "command-r-08-2024", "command-r"},
		{"gemini", "tier1", "gemini-2.5-flash-001", "gemini-2.5-flash"},
		{"groq", "free", "openai/gpt-oss-120b", "openai/gpt-oss-120b"},
		{"groq", "free", "models/openai/gpt-oss-120b", "openai/gpt-oss-120b"},
		{"gemini", "tier1", "models/gemini-2.5-flash", "gemini-2.5-flash"},
		{"openai", "tier1", "ft:gpt-4o-mini-2024-07-18:acme:x:y", "gpt-4o-mini"},
	} {
		p, err := presets.ID(c.provider + "/" + c.tier).ForModel(c.model)
		require.NoError(t, err, c.model)
		assert.Equal(t, c.want, p.Model)
	}
}

func TestForModelSuggestsModelsOfTheTier(t *testing.T) {
	for _, c := range []struct {
		id           presets.ID
		model, error string
	}{
		{"openai/tier1", "gpt-4o-mni", `presets: unknown preset "openai/tier1/gpt-4o-mni": did you mean openai/tier1/gpt-4o-mini or `},
		{"OpenAI/Tier1", "claude-opus-5", `presets: unknown preset "openai/tier1/claude-opus-5": names are provider/tier/model`},
		{"opnai/tier1", "gpt-4o", `presets: unknown preset "opnai/tier1/gpt-4o": did you mean openai/tier1 or `},
		{"gemini/free", "gemini-3.1-pro", "presets: gemini/free/gemini-3.1-pro cannot be called (429 says limit: 0): "},
		{"", "", `presets: unknown preset "//": names are `},
	} {
		_, err := c.id.ForModel(c.model)
		require.ErrorContains(t, err, c.error)
		if unknown, ok := errors.AsType[*presets.UnknownError](err); ok {
			for _, id := range unknown.Near {
				assert.True(t, strings.HasPrefix(string(id), "openai/") || c.id == "opnai/tier1", "%s", id)
			}
		}
	}
	p, err := presets.ID("openai/tier2/gpt-4o").ForModel("gpt-4o-mini")
	require.NoError(t, err, "a row of the tier")
	assert.Equal(t, presets.ID("openai/tier2/gpt-4o-mini"), p.ID)
}

func ExampleID_ForModel() {
	p, err := presets.OpenAITier1.ForModel("gpt-4o-2024-08-06")
	fmt.Println(p.ID, err)
	_, err = presets.OpenAITier1.ForModel("gtp-4o-mini")
	fmt.Println(err)
	// Output:
	// openai/tier1/gpt-4o <nil>
	// presets: unknown preset "openai/tier1/gtp-4o-mini": did you mean openai/tier1/gpt-4o-mini or openai/tier1/gpt-4o-mini-transcribe or openai/tier1/gpt-4o-mini-tts?
}
