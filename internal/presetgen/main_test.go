package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/throttle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	facts = "../../presets/facts.json"
	ids   = "../../presets/ids_gen.go"
	docs  = "../../docs/presets.md"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(data)
}

func TestNothingGeneratedIsStale(t *testing.T) {
	providers, err := withConstants([]byte(read(t, facts)))
	require.NoError(t, err)
	code, err := constants(presets.Default(), providers)
	require.NoError(t, err)
	assert.True(t, string(code) == read(t, ids), "presets/ids_gen.go is older than facts.json: run go generate ./presets")
	assert.True(t, string(page(presets.Default())) == read(t, docs), "docs/presets.md is older than facts.json: run go generate ./presets")
}

func TestRunWritesBoth(t *testing.T) {
	dir := t.TempDir()
	code, text := filepath.Join(dir, "ids.go"), filepath.Join(dir, "page.md")
	require.NoError(t, run(presets.Default(), facts, code, text))
	assert.Equal(t, read(t, ids), read(t, code))
	assert.Equal(t, read(t, docs), read(t, text))
	require.Error(t, run(presets.Default(), filepath.Join(dir, "none.json"), code, text))
	require.Error(t, run(presets.Default(), facts, filepath.Join(dir, "none", "ids.go"), text))
	require.Error(t, run(presets.Default(), facts, code, filepath.Join(dir, "none", "page.md")))
}

// Whatever is altered in a row shows on the page.
func TestTheWholeRowIsOnThePage(t *testing.T) {
	before := string(page(presets.Default()))
	for _, alter := range []func(*presets.Profile){
		func(p *presets.Profile) { p.Limits.Concurrency = 77 },
		func(p *presets.Profile) { p.Limits.Windows[1] = throttle.Sliding(10_001, 24*60*60*1e9) },
		func(p *presets.Profile) { p.Extra["batch_queue_tokens"]++ },
		func(p *presets.Profile) { p.Source.URL += "x" },
		func(p *presets.Profile) { p.Source.Title += "x" },
		func(p *presets.Profile) { p.AsOf = p.AsOf.AddDate(0, 0, 1) },
		func(p *presets.Profile) { p.Estimated = true },
		func(p *presets.Profile) { p.Confidence = presets.Low },
		func(p *presets.Profile) { p.Scope += "x" },
		func(p *presets.Profile) { p.Pool += "x" },
		func(p *presets.Profile) { p.Algorithm += "x" },
		func(p *presets.Profile) { p.Counts += "x" },
		func(p *presets.Profile) { p.Status += "x" },
		func(p *presets.Profile) { p.Notes += "x | y" },
		func(p *presets.Profile) { p.Main = true },
		func(p *presets.Profile) { p.Hard = true },
	} {
		p, err := presets.OpenAITier1.ForModel("gpt-4o-mini")
		require.NoError(t, err)
		alter(&p)
		other, err := presets.New(p)
		require.NoError(t, err)
		assert.False(t, before == string(page(presets.Default().With(other))))
	}
}

func TestConstant(t *testing.T) {
	for id, want := range map[presets.ID]string{
		"openai/tier1":                 "OpenAITier1",
		"azure-openai/formula":         "AzureOpenAIFormula",
		"a/gpt-5.6":                    "AGPT56",
		"anthropic/start":              "AnthropicStart",
		"generic/conservative":         "GenericConservative",
		"generic/scraping-polite":      "ScrapingPolite",
		"generic/flow-high-throughput": "FlowHighThroughput",
		"ncbi-eutils/no-key":           "NCBIEutilsNoKey",
		"a/b:c.d":                      "ABCD",
	} {
		assert.Equal(t, want, constant(id))
	}
	limits := throttle.Limits{Concurrency: 1}
	table, err := presets.New(
		presets.Profile{ID: "a/gpt-5.1", Limits: limits},
		presets.Profile{ID: "a/gpt-51", Limits: limits},
	)
	require.NoError(t, err)
	_, err = constants(table, []string{"a"})
	assert.EqualError(t, err, "a/gpt-5.1 and a/gpt-51 would both be called AGPT51")
}

func TestOnlyTheProvidersThatTheFactsNameHaveConstants(t *testing.T) {
	limits := throttle.Limits{Concurrency: 1}
	table, err := presets.New(
		presets.Profile{ID: "a/free", Limits: limits},
		presets.Profile{ID: "a/paid/gpt-5.1", Limits: limits, Main: true},
		presets.Profile{ID: "b/free", Limits: limits},
	)
	require.NoError(t, err)
	providers, err := withConstants([]byte(`{"constants": ["a"], "presets": []}`))
	require.NoError(t, err)
	code, err := constants(table, providers)
	require.NoError(t, err)
	assert.Contains(t, string(code), `AFree ID = "a/free"`)
	assert.Contains(t, string(code), `APaid ID = "a/paid"`)
	assert.NotContains(t, string(code), "BFree")
	assert.NotContains(t, string(code), "GPT")
	_, err = constants(table, []string{"a", "c"})
	require.EqualError(t, err, `constants: "c" is not a provider of the table`)
	_, err = withConstants([]byte(`{"constants": "a"}`))
	require.Error(t, err)
}

func TestShortNumbersAreReadAsTheLongOnes(t *testing.T) {
	for _, p := range presets.Default().All() {
		if p.PointsUnit != "" && p.PointsUnit != "points" || p.Kind != presets.KindLimits {
			continue
		}
		read, err := throttle.ParseLimits(limits(p))
		require.NoError(t, err)
		assert.Equal(t, p.Limits.String(), read.String())
	}
	assert.Equal(t, "500 5000 50k 1500k 2M 10k", zeros.ReplaceAllStringFunc("500 5000 50000 1500000 2000000 10000", short))
}

func TestThePageIsATable(t *testing.T) {
	cells := regexp.MustCompile(`[^\\]\|`)
	rows := 0
	for l := range strings.SplitSeq(read(t, docs), "\n") {
		if strings.HasPrefix(l, "| `") && strings.Contains(l, "/") {
			assert.Len(t, cells.FindAllString(l, -1), 7, "%s", l)
			rows++
		}
	}
	assert.Greater(t, rows, 522)
}
