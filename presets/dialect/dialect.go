package dialect

import (
	"net/http"
	"sync"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// Dialect reads the responses of one provider. Its methods have no state, are safe
// for concurrent use, and must not panic on any input.
type Dialect interface {
	// Name is a short name such as "openai".
	Name() string

	// Read judges a response, also a successful one. now is when it arrived. body may
	// be the whole body, its inner error object, the beginning of either, or nil.
	// Used has only what the response reports: if a call reserved several requests,
	// or points, add them before settling.
	Read(now time.Time, status int, h http.Header, body []byte) adaptive.Feedback

	// Estimate returns what the provider will charge for a request, at least one
	// request. r gives the path and, to Auto, the host; it may be nil. body is the
	// body of the request.
	Estimate(r *http.Request, body []byte) throttle.Cost
}

// Name is a Dialect of this package.
type Name string

// The dialects of this package.
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
	Ollama          Name = "ollama"
	Exa             Name = "exa"
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

	IETF    Name = "ietf"    // the RateLimit fields of draft-ietf-httpapi-ratelimit-headers, and problem details
	Generic Name = "generic" // Retry-After, RateLimit and X-RateLimit fields
	Auto    Name = "auto"    // detects the provider from each response or request
)

// Name implements Dialect.
func (n Name) Name() string { return string(n) }

// Read implements Dialect. An unknown name reads like Generic.
func (n Name) Read(now time.Time, status int, h http.Header, body []byte) (f adaptive.Feedback) {
	a, ok := answers.Get().(*answer)
	if !ok {
		a = new(answer)
	}
	a.now, a.status, a.header = now, status, h
	a.read(body)
	if n == Auto {
		a.judge(a.speaker(), &f)
	} else {
		a.judge(n.speaker(), &f)
	}
	*a = answer{} // nothing is kept of it
	answers.Put(a)
	return f
}

//nolint:gochecknoglobals // a Name has no state
var answers sync.Pool // of *answer

// Estimate implements Dialect. It counts a token for 4 bytes of text, 1000 tokens
// for an input image, and a point for an image to generate. A body that is not JSON
// costs one request.
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
	return tables.generic
}
