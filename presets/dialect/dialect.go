package dialect

import (
	"net/http"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// Dialect is how one provider speaks about its limits. Its methods are pure:
// safe for concurrent use, without state, and they never panic, whatever the
// other side sent.
type Dialect interface {
	// Name is how the dialect is called, such as "openai".
	Name() string

	// Read judges one answer, a success too: the verdict, which limit refused,
	// how long to wait, what is left, and what the call really cost. now is when
	// the answer arrived; times in it are counted from there. body may be the whole
	// body, its inner error object alone, the beginning of either, or nil. Used
	// has what the answer tells and nothing else: a call that reserved several
	// requests, or points, has to put these in before it settles to it.
	Read(now time.Time, status int, h http.Header, body []byte) adaptive.Feedback

	// Estimate is what the provider will charge for a request before it has
	// answered, at least one request. r may be nil: it tells the path and, where the
	// dialect is Auto, the host. body is the request's.
	Estimate(r *http.Request, body []byte) throttle.Cost
}

// Name is a Dialect that comes with this package.
type Name string

// The dialects that come with this package.
const (
	OpenAI          Name = "openai"
	Azure           Name = "azure-openai"
	Anthropic       Name = "anthropic"
	Gemini          Name = "gemini"
	MiniMax         Name = "minimax"
	Mistral         Name = "mistral"
	Groq            Name = "groq"
	Cohere          Name = "cohere"
	Bedrock         Name = "aws-bedrock"
	DeepSeek        Name = "deepseek"
	XAI             Name = "xai"
	Perplexity      Name = "perplexity"
	Together        Name = "together"
	Fireworks       Name = "fireworks"
	OpenRouter      Name = "openrouter"
	Voyage          Name = "voyage"
	Jina            Name = "jina"
	HuggingFace     Name = "huggingface"
	Cerebras        Name = "cerebras"
	GitHub          Name = "github"
	Stripe          Name = "stripe"
	Slack           Name = "slack"
	Notion          Name = "notion"
	Shopify         Name = "shopify"
	Wikimedia       Name = "wikimedia"
	Crossref        Name = "crossref"
	Arxiv           Name = "arxiv"
	SemanticScholar Name = "semantic-scholar"
	NCBI            Name = "ncbi-eutils"
	Nominatim       Name = "osm-nominatim"

	// IETF is a provider that sends the RateLimit fields, in the new form or the
	// old one, and problem details.
	IETF Name = "ietf"
	// Generic is a provider of which nothing else is known: Retry-After, the
	// RateLimit fields, and the X-RateLimit fields.
	Generic Name = "generic"
	// Auto finds out from each answer or request who speaks.
	Auto Name = "auto"
)

// Name implements Dialect.
func (n Name) Name() string { return string(n) }

// Read implements Dialect. A name that is none of this package reads as Generic does.
func (n Name) Read(now time.Time, status int, h http.Header, body []byte) (f adaptive.Feedback) {
	a := &answer{now: now, status: status, header: h}
	a.read(body)
	s := tables.byName[n]
	switch {
	case n == Auto:
		s = a.speaker()
	case s == nil:
		s = tables.byName[Generic]
	}
	a.judge(s, &f)
	return f
}

// Estimate implements Dialect. Without a tokenizer a text is a quarter as many
// tokens as it has bytes, which for English are characters; an image to look at
// is 1000, and one to make is a point.
// A request whose body is not JSON costs one request and no tokens.
func (n Name) Estimate(r *http.Request, body []byte) throttle.Cost {
	if n == Auto {
		n = asked(r)
	}
	e := newRequest(r, body)
	c := n.speaker().charge(e)
	c.Requests = 1
	if e.images {
		c.Points = e.answers()
	}
	return clampCost(c)
}

func (n Name) speaker() *speaker {
	if s := tables.byName[n]; s != nil {
		return s
	}
	return tables.byName[Generic]
}
