package settings

import (
	"net/url"
	"strings"

	"github.com/headrace/headrace/presets/dialect"
)

// provider describes the URL of a service and how it expects its key.
type provider struct {
	base   string // empty if each account has its own
	env    string // the usual environment variable of the key
	auth   string // the header of the key; if empty, Authorization with a bearer token
	header map[string]string
}

const anthropicVersion = "2023-06-01" // https://docs.anthropic.com/en/api/versioning

// providers are the providers that accept requests of one of the formats.
func providers(name string) (p provider, known bool) {
	p, known = map[string]provider{
		"openai": {base: "https://api.openai.com/v1", env: "OPENAI_API_KEY"},
		"anthropic": {
			base: "https://api.anthropic.com/v1", env: "ANTHROPIC_API_KEY", auth: "X-Api-Key",
			header: map[string]string{"Anthropic-Version": anthropicVersion},
		},
		"azure-openai": {env: "AZURE_OPENAI_API_KEY", auth: "Api-Key"},
		"cerebras":     {base: "https://api.cerebras.ai/v1", env: "CEREBRAS_API_KEY"},
		"cohere":       {base: "https://api.cohere.ai/compatibility/v1", env: "COHERE_API_KEY"},
		"deepseek":     {base: "https://api.deepseek.com/v1", env: "DEEPSEEK_API_KEY"},
		"fireworks":    {base: "https://api.fireworks.ai/inference/v1", env: "FIREWORKS_API_KEY"},
		"gemini":       {base: "https://generativelanguage.googleapis.com/v1beta/openai", env: "GEMINI_API_KEY"},
		"groq":         {base: "https://api.groq.com/openai/v1", env: "GROQ_API_KEY"},
		"mistral":      {base: "https://api.mistral.ai/v1", env: "MISTRAL_API_KEY"},
		"openrouter":   {base: "https://openrouter.ai/api/v1", env: "OPENROUTER_API_KEY"},
		"together":     {base: "https://api.together.xyz/v1", env: "TOGETHER_API_KEY"},
		"xai":          {base: "https://api.x.ai/v1", env: "XAI_API_KEY"},
	}[name]
	return p, known
}

// at reports whether u is the provider's own host. The key is sent there without --api-key-env.
func (p provider) at(name string, u *url.URL) bool {
	if host := strings.ToLower(u.Hostname()); string(dialect.ByHost(host)) == name {
		return true
	}
	own, err := url.Parse(p.base)
	return err == nil && p.base != "" && strings.EqualFold(own.Host, u.Host)
}
