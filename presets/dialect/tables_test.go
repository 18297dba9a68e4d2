package dialect

import (
	"net/http"
	"net/textproto"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/adaptive"
)

// The tables are looked up as they stand: fields in canonical form, phrases
// and codes in lower case.
func TestTablesAreWrittenAsTheyAreLookedUp(t *testing.T) {
	field := func(of Name, names ...string) {
		for _, n := range names {
			assert.Equal(t, textproto.CanonicalMIMEHeaderKey(n), n, "%s", of)
		}
	}
	rules := func(of Name, all []rule) {
		for i := range all {
			r := &all[i]
			assert.Equal(t, strings.ToLower(r.code+r.text), r.code+r.text, "%s", of)
			if r.text != "" {
				assert.NotContains(t, "|"+r.text+"|", "||", "%s: an empty phrase is in every message", of)
			}
			assert.NotEqual(t, adaptive.Unclassified, r.verdict, "%s", of)
			if r.slow {
				assert.Contains(t, []adaptive.Verdict{adaptive.Hit, adaptive.Overloaded}, r.verdict, "%s", of)
			}
		}
	}
	seen := map[string]bool{}
	for _, s := range tables.speakers {
		field(s.name, s.marks...)
		field(s.name, s.waits...)
		for _, g := range s.gauges {
			field(s.name, g.limit, g.remaining, g.reset, g.share)
		}
		rules(s.name, s.rules)
		for _, host := range s.hosts {
			assert.False(t, seen[host], "%s: whose is %s?", s.name, host)
			seen[host] = true
			assert.Equal(t, s.name, ByHost(strings.Replace(host, "*", "-x.", 1)), "%s", host)
			assert.Equal(t, s.name, ByHost(strings.ToUpper(host)+".:8443"), "%s", host)
		}
	}
	for _, g := range tables.gauges {
		field(Generic, g.limit, g.remaining, g.reset)
	}
	rules(Generic, tables.common)
}

// What is looked up in an index is what a walk through the tables in their order finds.
func TestMarksAreThoseOfTheFirstInTheTables(t *testing.T) {
	all := []string{"", "Date", "Content-Type", "X-Nobody-Knows-It", strings.Repeat("X", 100)}
	for _, s := range tables.speakers {
		all = append(all, s.marks...)
	}
	rapid.Check(t, func(t *rapid.T) {
		h := http.Header{}
		for _, field := range rapid.SliceOfN(rapid.SampledFrom(all), 0, 6).Draw(t, "fields") {
			h[field] = nil
		}
		want := slices.IndexFunc(tables.speakers, func(s *speaker) bool {
			return slices.ContainsFunc(s.marks, func(m string) bool { _, ok := h[m]; return ok })
		})
		place, ok := tables.marks.first(h)
		if ok != (want >= 0) || ok && place != want {
			t.Fatalf("%v: %d, %v; want %d", h, place, ok, want)
		}
	})
}

// Without a field that levels knows, no gauge is read: a gauge that says something has one.
func TestEveryGaugeHasAFieldThatIsLookedFor(t *testing.T) {
	assert.False(t, tables.levels.any(http.Header{"Content-Type": nil, "Date": nil, "Content-Length": nil, "Server": nil}))
	assert.True(t, tables.levels.any(http.Header{"Ratelimit": nil}))
	all := slices.Clone(tables.gauges)
	for _, s := range tables.speakers {
		all = append(all, s.gauges...)
	}
	for _, g := range all {
		for _, field := range []string{g.limit, g.remaining, g.reset, g.share} {
			h := http.Header{field: {"1/2"}}
			if field == g.remaining {
				h[field] = []string{"1"}
			}
			if _, ok := g.read(h, time.Now()); ok {
				assert.True(t, tables.levels.any(h), "%s", field)
			}
		}
	}
}

func TestHostsAreThoseOfTheTables(t *testing.T) {
	labels := []string{"", "api", "eu", "bedrock", "bedrock-runtime", "us-east-1"}
	for _, s := range tables.speakers {
		for _, h := range s.hosts {
			labels = append(labels, h, strings.TrimLeft(h, "*-"))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		separator := rapid.SampledFrom([]string{".", "-", ""}).Draw(t, "separator")
		host := strings.Join(rapid.SliceOfN(rapid.SampledFrom(labels), 1, 3).Draw(t, "labels"), separator)
		var want *speaker
		for _, s := range tables.speakers {
			if want == nil && slices.ContainsFunc(s.hosts, func(h string) bool { return isHost(host, h) }) {
				want = s
			}
		}
		got := tables.hosts.of(host)
		if (got == nil) != (want == nil) || got != nil && !slices.ContainsFunc(got.hosts, func(h string) bool { return isHost(host, h) }) {
			t.Fatalf("%q: %v, want %v", host, got, want)
		}
	})
}

// isHost is the slow way.
func isHost(host, pattern string) bool {
	if strings.Contains(pattern, "*") {
		ok, err := path.Match(pattern, host)
		return ok && err == nil
	}
	above, ok := strings.CutSuffix(host, pattern)
	return ok && (above == "" || strings.HasSuffix(above, "."))
}

// A body without limits identifies no provider: no shape is asked then.
func TestNoShapeIsThatOfABlankBody(t *testing.T) {
	var d document
	assert.True(t, d.blank())
	d.read([]byte(`{"id":"a","object":"chat.completion","choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":3}}`), false)
	assert.True(t, d.blank())
	for _, s := range tables.speakers {
		assert.False(t, s.shape != nil && s.shape(&d), "%s", s.name)
	}
}

func TestDigitsAreWhatEverybodyReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.StringMatching(`[0-9]{0,14}[.e+-]?[0-9]?`).Draw(t, "v")
		n, err := strconv.ParseInt(v, 10, 64)
		got, ok := digits(v)
		plain := err == nil && strings.Trim(v, "0123456789") == "" && len(v) <= 12
		if ok != plain || ok && got != n {
			t.Fatalf("%q: %d, %v; want %d, %v", v, got, ok, n, plain)
		}
	})
}

func TestEveryNameHasATable(t *testing.T) {
	for _, n := range []Name{
		OpenAI, Azure, Anthropic, Gemini, MiniMax, Mistral, Groq, Cohere, Bedrock, DeepSeek, XAI, Perplexity, Together, Fireworks, OpenRouter,
		Voyage, Jina, HuggingFace, Cerebras, Ollama, Exa, GitHub, Stripe, Slack, Notion, Shopify, Wikimedia, Crossref, Arxiv, SemanticScholar, NCBI,
		Nominatim, IETF, Generic,
	} {
		assert.Equal(t, n, n.speaker().name)
		assert.Contains(t, Names(), n)
	}
	assert.Len(t, tables.byName, len(tables.speakers), "no name twice")
	assert.Contains(t, Names(), Auto)
	assert.Equal(t, Generic, Name("elvish").speaker().name)
}
