package presets_test

import (
	"fmt"
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
		p, ok := table.ForModel("A", "T", model)
		assert.Equal(t, want != "", ok, model)
		if ok {
			assert.Equal(t, want, p.ID, model)
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
		p, ok := presets.ForModel(c.provider, c.tier, c.model)
		assert.True(t, ok, c.model)
		assert.Equal(t, c.want, p.Model)
	}
}

func ExampleForModel() {
	p, ok := presets.ForModel("openai", "tier1", "gpt-4o-2024-08-06")
	fmt.Println(p.ID, ok)
	// Output: openai/tier1/gpt-4o true
}
