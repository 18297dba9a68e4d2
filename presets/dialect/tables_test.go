package dialect

import (
	"net/textproto"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

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

func TestEveryNameHasATable(t *testing.T) {
	for _, n := range []Name{
		OpenAI, Azure, Anthropic, Gemini, Mistral, Groq, Cohere, Bedrock, DeepSeek, XAI, Perplexity, Together, Fireworks, OpenRouter,
		Voyage, Jina, HuggingFace, Cerebras, GitHub, Stripe, Slack, Notion, Shopify, Wikimedia, Crossref, Arxiv, SemanticScholar, NCBI,
		Nominatim, IETF, Generic,
	} {
		assert.Equal(t, n, n.speaker().name)
		assert.Contains(t, Names(), n)
	}
	assert.Len(t, tables.byName, len(tables.speakers), "no name twice")
	assert.Contains(t, Names(), Auto)
	assert.Equal(t, Generic, Name("elvish").speaker().name)
}
