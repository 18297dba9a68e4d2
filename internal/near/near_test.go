package near

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	ids := []string{
		"anthropic/start", "aws-bedrock/default", "azure-openai/tier1", "gemini/free", "generic/conservative", "generic/flow-conservative",
		"generic/scraping-moderate", "huggingface/free", "openai/tier1", "openai/tier2", "xai/default", "openai/tier1/gpt-4o-mini", "openai/tier2/gpt-4o-mini",
	}
	for name, want := range map[string]string{
		"openai/teir1":              "openai/tier1 azure-openai/tier1",
		"\tOpenAI/TIER1\n":          "openai/tier1 azure-openai/tier1",
		"opnai":                     "openai/tier1 openai/tier2",
		"azure/tier1":               "azure-openai/tier1",
		"bedrock":                   "aws-bedrock/default",
		"aws/default":               "aws-bedrock/default",
		"default/aws":               "aws-bedrock/default",
		"google/free":               "gemini/free",
		"hf/free":                   "huggingface/free",
		"claude":                    "anthropic/start",
		"grok":                      "xai/default",
		"vertex":                    "gemini/free",
		"scraping/moderate":         "generic/scraping-moderate",
		"flow/conservative":         "generic/flow-conservative",
		"conservative":              "generic/conservative generic/flow-conservative",
		"gpt-4o-mni":                "openai/tier1/gpt-4o-mini openai/tier2/gpt-4o-mini",
		"hugging":                   "huggingface/free",
		"scrapingmod":               "generic/scraping-moderate",
		"openai/tier1/gpt-5-mini-2": "openai/tier1 openai/tier1/gpt-4o-mini",
		"":                          "",
		"/":                         "",
		"x":                         "",
		"ai":                        "",
		"nope/nope":                 "",
		"free/free":                 "", // one word answers for one
		strings.Repeat("open", 99):  "",
	} {
		assert.Equal(t, strings.Fields(want), append([]string{}, Names(name, ids, 2)...), "%q", name)
	}
	assert.Equal(t, []string{"openai/tier2", "openai/tier1"}, Names("openai/tier9", []string{"openai/tier2", "openai/tier1"}, 5), "equals stay in their order")
	assert.Empty(t, Names("opnai", ids, 0))
	type id string
	assert.Equal(t, []id{"Limits"}, Names("limts", []id{"law", "Limits"}, 1))
}

func TestEdits(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"a", "", 1},
		{"tier1", "teir1", 1},
		{"limts", "limits", 1},
		{"kitten", "sitting", 3},
		{"abcd", "badc", 2},
		{"ca", "abc", 3},
		{"openai", "openai", 0},
		{"abc", "abd", 1},
	} {
		assert.Equal(t, tc.want, edits(tc.a, tc.b, 9), "%s %s", tc.a, tc.b)
		assert.Equal(t, tc.want, edits(tc.b, tc.a, 9), "%s %s", tc.b, tc.a)
	}
	assert.Greater(t, edits("a", "aaaaaa", 2), 2)
}

// A slip for every four letters is forgiven, wherever it is.
func TestSlipsAreForgiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z]{4,16}`).Draw(t, "name")
		slipped := []byte(name)
		for range len(name) / 4 {
			i := rapid.IntRange(0, len(slipped)-2).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "slip") {
			case 0:
				slipped[i] = 'x'
			case 1:
				slipped = slices.Insert(slipped, i, 'x')
			default:
				slipped = slices.Delete(slipped, i, i+1)
			}
		}
		if len(slipped) >= 4 && len(slipped)/4 >= len(name)/4 {
			require.Equal(t, []string{name}, Names(string(slipped), []string{name}, 1))
		}
	})
}
