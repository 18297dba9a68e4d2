package gateway

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/proxy"
)

// variable is an environment variable in which a client looks for a base URL.
type variable struct {
	name     string
	upstream string // of its default; if empty, there is no default, and the variable is only set in place of another value
	path     string // of the default
}

// variables are listed in a table of docs/proxy.md, together with the clients that read them.
func variables() []variable {
	return []variable{
		{"OPENAI_BASE_URL", "openai", "/v1"},
		{"ANTHROPIC_BASE_URL", "anthropic", ""},
		{"GOOGLE_GEMINI_BASE_URL", "gemini", ""},
		{"GROQ_BASE_URL", "groq", ""},
		{"TOGETHER_BASE_URL", "together", "/v1"},
		{"CO_API_URL", "cohere", ""},
		{name: "OPENAI_API_BASE"},
		{name: azure},
		{name: "ANTHROPIC_API_URL"},
		{name: "ANTHROPIC_API_BASE"},
	}
}

// Variables returns the names of the environment variables from which clients read a base URL.
func Variables() (names []string) {
	for _, v := range variables() {
		names = append(names, v.name)
	}
	return names
}

// azure is read by the AzureOpenAI clients, unless OPENAI_BASE_URL is set.
const azure = "AZURE_OPENAI_ENDPOINT"

// keys are the variables from which clients read the credential of an upstream, and the quota that it uses.
func keys(upstream string) []string {
	return map[string][]string{
		"openai":    {"OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"},
		"anthropic": {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"},
		"gemini":    {"GOOGLE_API_KEY", "GEMINI_API_KEY"},
		"groq":      {"GROQ_API_KEY"},
		"together":  {"TOGETHER_API_KEY"},
		"cohere":    {"CO_API_KEY"},
	}[upstream]
}

// Redirection describes how the clients of a command are sent to a proxy.
type Redirection struct {
	Upstreams map[string]proxy.Upstream // upstreams that are needed besides the given ones
	Notes     []string                  // about variables that were already set

	to []target
}

// target is the URL that a variable is set to.
type target struct{ name, upstream, path string }

// Redirect examines the environment. Calls of a variable that is already set go through the proxy to the same URL as
// before. The given upstreams are those that the proxy has by default.
func Redirect(getenv func(string) string, given map[string]proxy.Upstream) *Redirection {
	r := &Redirection{Upstreams: map[string]proxy.Upstream{}}
	for _, v := range variables() {
		value := getenv(v.name)
		switch {
		case value != "":
			r.keep(v.name, value, given)
		case v.name == "OPENAI_BASE_URL" && getenv(azure) != "":
			r.notef(v.name, "is not set, because the AzureOpenAI client of Node.js would use it in place of "+azure)
		case v.upstream != "":
			r.to = append(r.to, target(v))
		}
	}
	return r
}

func (r *Redirection) notef(name, text string) { r.Notes = append(r.Notes, name+" "+text) }

// keep sends the calls of a variable through the proxy to value.
func (r *Redirection) keep(name, value string, given map[string]proxy.Upstream) {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		r.notef(name, "is not an http or https URL, and is left unchanged")
		return
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		r.notef(name, "has a user, a password, a query or a fragment, and is left unchanged")
		return
	}
	origin := u.Scheme + "://" + strings.ToLower(u.Host)
	upstream := r.named(origin, u.Host, given)
	r.to = append(r.to, target{name, upstream, u.EscapedPath()})
	r.notef(name, "was set: its calls are forwarded to "+origin)
}

// named returns the name of the upstream at origin, and adds one if there is none.
func (r *Redirection) named(origin, host string, given map[string]proxy.Upstream) string {
	for _, known := range []map[string]proxy.Upstream{given, r.Upstreams} {
		var names []string
		for name, u := range known {
			if u.URL == origin {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			return slices.Min(names)
		}
	}
	first := named(host)
	name := first
	for n := 2; ; n++ {
		_, known := given[name]
		_, added := r.Upstreams[name]
		if !known && !added {
			break
		}
		name = first + "-" + strconv.Itoa(n)
	}
	r.Upstreams[name] = proxy.Upstream{URL: origin}
	return name
}

// named makes a name from a host.
func named(host string) string {
	plain := func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' {
			return c
		}
		return '-'
	}
	name := strings.Trim(strings.Map(plain, strings.ToLower(host)), "-.")
	return "at-" + name[:min(len(name), 40)]
}

// Names returns the upstreams that the variables refer to.
func (r *Redirection) Names() []string {
	var names []string
	for _, t := range r.to {
		names = append(names, t.upstream)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Environ returns environ for a command with clients that call the proxy at base. Calls to the proxy bypass any other proxy,
// which could not reach it.
func (r *Redirection) Environ(environ []string, base string) []string {
	set := map[string]string{BaseVariable: base}
	for _, t := range r.to {
		set[t.name] = base + "/" + t.upstream + t.path
	}
	direct := false
	for _, one := range environ {
		name, value, _ := strings.Cut(one, "=")
		switch strings.ToUpper(name) {
		case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY":
			direct = direct || value != ""
		}
	}
	if u, err := url.Parse(base); err == nil && direct {
		for _, name := range []string{"NO_PROXY", "no_proxy"} {
			set[name] = with(value(environ, name), u.Host)
		}
	}
	var all []string
	for _, one := range environ {
		if name, _, _ := strings.Cut(one, "="); set[name] == "" {
			all = append(all, one)
		}
	}
	for name, value := range set {
		all = append(all, name+"="+value)
	}
	slices.Sort(all[len(all)-len(set):])
	return all
}

// BaseVariable holds the URL of the proxy, for the command.
const BaseVariable = "HEADRACE_PROXY_URL"

// with adds the host of an address to a list.
func with(list, address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if list == "" {
		return host
	}
	return list + "," + host
}

func value(environ []string, name string) (value string) {
	for _, one := range environ {
		if v, ok := strings.CutPrefix(one, name+"="); ok {
			value = v
		}
	}
	return value
}
