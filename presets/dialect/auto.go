package dialect

import (
	"net/http"
	"strings"
)

// speaker recognises the provider of an answer. Header fields are checked before the shape of the body, which other providers
// imitate. Fields that any gateway may send do not count. In either case the first match in table order wins: the table begins
// with formats that are not imitated and ends with OpenAI. An unrecognised answer is read as Generic.
func (a *answer) speaker() *speaker {
	if place, ok := tables.marks.first(a.header); ok {
		return tables.speakers[place]
	}
	if a.doc.blank() {
		return tables.generic
	}
	for _, s := range tables.speakers {
		if s.shape != nil && s.shape(&a.doc) {
			return s
		}
	}
	return tables.generic
}

// blank reports whether a body has nothing by which any shape could know it.
func (d *document) blank() bool {
	return d.shape == 0 && !d.failed && len(d.codes) == 0 && !d.cost.known
}

// whose returns the provider that a path names, if the host is a gateway.
func whose(path string) Name {
	switch {
	case strings.HasSuffix(path, "/v1/messages"), strings.HasSuffix(path, "/v1/messages/count_tokens"):
		return Anthropic
	case strings.Contains(path, "/openai/deployments/"):
		return Azure
	case strings.Contains(path, ":") && (strings.Contains(path, ":generateContent") || strings.Contains(path, ":streamGenerateContent") ||
		strings.Contains(path, ":embedContent") || strings.Contains(path, ":batchEmbedContents")):
		return Gemini
	case strings.HasPrefix(path, "/model/") && (strings.Contains(path, "/converse") || strings.Contains(path, "/invoke")):
		return Bedrock
	}
	return Generic
}

// asked returns the provider that a request of the dialect Auto is for.
func asked(r *http.Request) Name {
	if r == nil {
		return Generic
	}
	host := r.Host
	if r.URL != nil && r.URL.Host != "" {
		host = r.URL.Host
	}
	if n := ByHost(host); n != Auto {
		return n
	}
	if r.URL == nil {
		return Generic
	}
	return whose(r.URL.Path)
}
