package proxy

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/headrace/headrace/internal/account"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
)

// Upstream is where the requests of one name are sent.
type Upstream struct {
	// URL is an http or https URL. Its path, if any, comes before that of a request.
	URL string
	// Preset is where learning starts. If it is empty, Config.Preset is used if it
	// is for the provider of the URL; otherwise the limits are found.
	Preset presets.ID
}

// hosts are the names of the known upstreams: one for each provider with a
// known dialect and the same host for all accounts.
func hosts() map[string]string {
	return map[string]string{
		"anthropic":        "api.anthropic.com",
		"arxiv":            "export.arxiv.org",
		"cerebras":         "api.cerebras.ai",
		"cohere":           "api.cohere.com",
		"crossref":         "api.crossref.org",
		"deepseek":         "api.deepseek.com",
		"exa":              "api.exa.ai",
		"fireworks":        "api.fireworks.ai",
		"gemini":           "generativelanguage.googleapis.com",
		"github":           "api.github.com",
		"google":           "generativelanguage.googleapis.com",
		"groq":             "api.groq.com",
		"huggingface":      "router.huggingface.co",
		"jina":             "api.jina.ai",
		"minimax":          "api.minimax.io",
		"mistral":          "api.mistral.ai",
		"ncbi":             "eutils.ncbi.nlm.nih.gov",
		"notion":           "api.notion.com",
		"ollama":           "ollama.com",
		"openai":           "api.openai.com",
		"openrouter":       "openrouter.ai",
		"perplexity":       "api.perplexity.ai",
		"semantic-scholar": "api.semanticscholar.org",
		"slack":            "slack.com",
		"stripe":           "api.stripe.com",
		"together":         "api.together.xyz",
		"voyage":           "api.voyageai.com",
		"wikimedia":        "api.wikimedia.org",
		"xai":              "api.x.ai",
	}
}

// Known returns the upstreams that need no configuration, by name.
func Known() map[string]Upstream {
	all := map[string]Upstream{}
	for name, host := range hosts() {
		all[name] = Upstream{URL: "https://" + host}
	}
	return all
}

// upstream is an Upstream in use.
type upstream struct {
	name    string
	url     *url.URL
	path    string // of url, without the last slash
	host    string // of url, as accounts are counted by
	dialect dialect.Name
	preset  presets.ID
	sender  http.RoundTripper // by which its requests pass the limiters
	latest  atomic.Pointer[credential]
}

// credential is an account and the client name that is derived from it.
type credential struct {
	account account.ID
	client  string
}

// client is the name of the client that sends a credential.
func (u *upstream) client(of account.ID) string {
	if c := u.latest.Load(); c != nil && c.account == of { // as almost always: most proxies have one for each upstream
		return c.client
	}
	c := &credential{of, u.name + account.Number(u.host, of)}
	u.latest.Store(c)
	return c.client
}

// validName is that of an upstream or a client.
var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// upstreams makes the known ones and those of c, and reports problems to to.
func (c *Config) upstreams(to *invalid.Problems) map[string]*upstream {
	all := Known()
	maps.Copy(all, c.Upstreams)
	profile, err := c.profile()
	if err != nil {
		to.Addf("Preset", "%v", err)
	}
	made := map[string]*upstream{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		u := &upstream{name: name, preset: all[name].Preset}
		field := "Upstreams[" + name + "]"
		switch {
		case !validName.MatchString(name):
			to.Addf(field, "not a name: use up to 64 letters, digits, dots, dashes and underscores, a letter or digit first")
		case len(name) == 1:
			to.Addf(field, "names of one letter are reserved for prefixes such as /c/NAME/: use a longer one")
		}
		u.url = checkURL(all[name].URL, field, to)
		u.host = account.Host(u.url)
		u.path = strings.TrimSuffix(u.url.EscapedPath(), "/")
		u.dialect = speaks(name, u.url)
		if u.preset != "" {
			if _, err := c.table().Lookup(string(u.preset)); err != nil {
				to.Addf(field+".Preset", "%v", err)
			}
		} else if u.dialect == dialect.Auto || u.dialect == profile.Dialect {
			u.preset = c.Preset
		}
		made[name] = u
	}
	return made
}

// speaks returns the dialect of an upstream's host or, if that is not known, such
// as a gateway's, of its name.
func speaks(name string, at *url.URL) dialect.Name {
	if d := dialect.ByHost(at.Host); d != dialect.Auto {
		return d
	}
	if host, ok := hosts()[name]; ok {
		return dialect.ByHost(host)
	}
	return dialect.Auto
}

// checkURL returns what text says, or an empty URL after a problem.
func checkURL(text, field string, to *invalid.Problems) *url.URL {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		to.Addf(field+".URL", "not a URL: use one such as http://127.0.0.1:9000") // the error may repeat a password
		return &url.URL{}
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		to.Addf(field+".URL", "%q is not an http or https URL with a host, such as http://127.0.0.1:9000", u.Redacted())
	case u.User != nil:
		to.Addf(field+".URL", "user and password are not sent: leave them out, and have clients send the credential")
	case u.RawQuery != "" || u.Fragment != "":
		to.Addf(field+".URL", "a query or a fragment is not sent: leave it out")
	}
	return u
}

// table is where presets are looked up.
func (c *Config) table() *presets.Table {
	if c.Policy.Presets != nil {
		return c.Policy.Presets
	}
	return presets.Default()
}

// profile is that of the Preset, empty without one.
func (c *Config) profile() (p presets.Profile, err error) {
	if c.Preset != "" {
		p, err = c.table().Lookup(string(c.Preset))
	}
	return p, err
}
