package settings

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/registry"
)

// Run holds the settings of `headrace run`.
type Run struct {
	Flags

	Lines   requests.Format
	Base    *url.URL
	Key     httpclient.Secret // zero if no key is sent
	KeyName string            // the environment variable
	Auth    string            // the header of the key; if empty, Authorization
	Headers http.Header
	Dialect dialect.Dialect
	Spec    registry.Spec // of the limiter
	Token   string        // of the dashboard; if empty, the dashboard is read-only

	group *group.Group // of --share; nil if it is something else
}

// Error is an invalid flag, which the user has to change. Nothing was sent.
type Error struct {
	Flag    string // such as --rpm
	Problem string // what is wrong and how to correct it
}

// Error names the flag.
func (e *Error) Error() string { return e.Flag + ": " + e.Problem }

type problems struct{ all []error }

func (p *problems) addf(flag, format string, args ...any) {
	p.all = append(p.all, &Error{flag, fmt.Sprintf(format, args...)})
}

// Resolve returns the settings of the flags. The error joins an *Error for each problem.
func Resolve(f Flags, getenv func(string) string) (*Run, error) {
	r, p := &Run{Flags: f, Headers: http.Header{}, Token: getenv("HEADRACE_TOKEN")}, &problems{}
	r.files(p)
	name := r.provider(p)
	r.headers(p)
	r.key(p, name, getenv)
	r.limits(p)
	r.bounds(p)
	return r, errors.Join(p.all...)
}

// files gives each file its default.
func (r *Run) files(p *problems) {
	stem := r.Requests
	if stem == requests.Stdin || unnamed(stem) {
		stem = "headrace"
	}
	stem = strings.TrimSuffix(strings.TrimSuffix(stem, ".gz"), ".jsonl")
	r.Out = cmp.Or(r.Out, stem+".results.jsonl")
	r.Errors = cmp.Or(r.Errors, stem+".errors.jsonl")
	if r.Journal == "" && r.Out != "-" && Regular(r.Out) {
		r.Journal = r.Out + ".journal"
	}
	r.apart(p)
	for _, at := range [][2]string{{"--out", r.Out}, {"--errors", r.Errors}} {
		if strings.HasSuffix(at[1], ".gz") {
			p.addf(at[0], "%s: files are written uncompressed, use a name without .gz", at[1])
		}
	}
	for _, at := range [][2]string{{"--errors", r.Errors}, {"--journal", r.Journal}, {"--report", r.Report}} {
		if at[1] == "-" {
			p.addf(at[0], "only --out can be standard output: name a file")
		}
	}
	if r.Journal == "" {
		if r.RetryFailed {
			p.addf("--retry-failed", "without a journal, failures of earlier runs are unknown: use --journal")
		}
	} else if r.RetryFailed && r.Fresh {
		p.addf("--retry-failed", "--fresh forgets what has failed: use only one of them")
	}
}

// unnamed reports whether a path is that of a stream: standard input, or the /dev/fd/63 that a shell makes of <(command).
// No file can be created next to it, or the next restart removes it.
func unnamed(path string) bool {
	path = filepath.ToSlash(filepath.Clean(path))
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/")
}

// Regular reports whether path is a file that can be truncated and appended to, or does not exist yet.
func Regular(path string) bool {
	info, err := os.Stat(path)
	return err != nil || info.Mode().IsRegular()
}

// provider determines the service's provider and base URL.
func (r *Run) provider(p *problems) (name string) {
	switch r.Format {
	case "", string(requests.OpenAI), string(requests.Anthropic):
	default:
		p.addf("--format", "%q is not openai or anthropic", r.Format)
		r.Format = "" // so that there are no problems that follow from it
	}
	r.Lines = requests.Format(r.Format)
	if r.Preset != "" {
		profile, err := presets.Lookup(r.Preset)
		if err != nil {
			p.addf("--preset", "%s", Plain(err))
		} else {
			name, r.Dialect = profile.Provider, profile.Dialect
			r.Spec.Preset = presets.ID(r.Preset)
		}
	}
	r.Lines = cmp.Or(r.Lines, map[string]requests.Format{"anthropic": requests.Anthropic}[name], requests.OpenAI)
	if r.BaseURL == "" {
		name = cmp.Or(name, string(r.Lines))
		own, known := providers(name)
		if !known || own.base == "" {
			p.addf("--base-url", "is missing: the URL of %s differs between accounts", name)
			return name
		}
		r.BaseURL = own.base
	}
	u, err := url.Parse(r.BaseURL)
	switch {
	case err != nil:
		p.addf("--base-url", "it is not a valid URL: use one such as http://localhost:8000/v1") // the error may hold a key
		return name
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		p.addf("--base-url", "it has to begin with https:// or http:// and a host")
		return name
	case u.User != nil:
		p.addf("--base-url", "it holds a user or a password: use --api-key-env for the key")
	}
	for key := range u.Query() {
		if Secretive(key) {
			p.addf("--base-url", "its query has %q: use --api-key-env for the key", key)
		}
	}
	r.Base = u
	spoken := dialect.ByHost(u.Host)
	if name == "" && spoken != dialect.Auto {
		name = string(spoken)
	}
	if r.Dialect == nil || r.Dialect == dialect.Name("") {
		if r.Dialect = spoken; spoken == dialect.Auto && r.Lines == requests.Anthropic {
			r.Dialect = dialect.Anthropic
		}
	}
	r.Spec.Dialect, _ = r.Dialect.(dialect.Name)
	return cmp.Or(name, map[requests.Format]string{requests.Anthropic: "anthropic"}[r.Lines])
}

// headers parses --header.
func (r *Run) headers(p *problems) {
	for _, h := range r.Header {
		name, value, ok := strings.Cut(h, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !isToken(name) || strings.ContainsFunc(value, isControl) {
			p.addf("--header", "one of them is not \"Name: value\"") // it may hold a key
			continue
		}
		switch name := http.CanonicalHeaderKey(name); name {
		case "Host", "Content-Length", "Transfer-Encoding": // net/http ignores them
			p.addf("--header", "%s cannot be set: it follows from --base-url and the request", name)
			continue
		case "Accept-Encoding", "Connection", "Idempotency-Key", "Trailer", "Upgrade":
			p.addf("--header", "%s cannot be set: headrace sets it for each request", name)
			continue
		}
		r.Headers.Add(name, value)
	}
}

// isToken reports whether name is a token of RFC 9110, section 5.6.2. Otherwise each call would fail before it is sent.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// isControl reports whether r may not be in the value of a header.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == '\x7f' }

// key finds the key. Without --api-key-env it is sent to the provider's own host and nowhere else.
func (r *Run) key(p *problems, name string, getenv func(string) string) {
	own, known := providers(name)
	r.Auth = own.auth
	for k, v := range own.header {
		if r.Headers.Get(k) == "" {
			r.Headers.Set(k, v)
		}
	}
	if r.KeyName = r.APIKeyEnv; r.KeyName == "" && known && r.Base != nil && own.at(name, r.Base) && !r.Credentials() {
		r.KeyName = own.env
	}
	if r.KeyName == "" {
		return
	}
	value := strings.TrimSpace(getenv(r.KeyName))
	if strings.ContainsAny(r.KeyName, " =-:/") || value == "" && LooksLikeKey(r.KeyName) {
		p.addf("--api-key-env", "it is the name of an environment variable, such as %s, and not the key itself", cmp.Or(own.env, "OPENAI_API_KEY"))
		return
	}
	if value == "" && !r.DryRun {
		p.addf("--api-key-env", "the environment variable %s is not set: set it to the key, or name another", r.KeyName)
	}
	if problem := notKey(value); problem != "" {
		p.addf("--api-key-env", "the environment variable %s %s: set it to the key alone", r.KeyName, problem)
	}
	r.Key = httpclient.NewSecret(value)
}

// notKey describes a common mistake in the value of a key, such as quotes around it; empty if there is none.
func notKey(value string) string {
	scheme, _, words := strings.Cut(value, " ")
	switch {
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return "has a line break or another character that no key has"
	case strings.Trim(value, `"'`) != value:
		return "has quotes around the key"
	case words && strings.EqualFold(scheme, "bearer"):
		return "begins with " + scheme
	}
	return ""
}

// Credentials reports whether a header of --header is likely to hold a key.
func (r *Run) Credentials() bool {
	for name := range r.Headers {
		if Secretive(name) {
			return true
		}
	}
	return false
}

func (r *Run) bounds(p *problems) {
	if r.MaxAttempts < 1 {
		p.addf("--max-attempts", "%d is below 1: 1 means no retries", r.MaxAttempts)
	}
	for _, d := range []struct {
		flag string
		d    time.Duration
	}{{"--max-wait", r.MaxWait}, {"--timeout", r.Timeout}} {
		if d.d <= 0 {
			p.addf(d.flag, "%v is not positive", d.d)
		}
	}
	if r.Grace < 0 {
		p.addf("--grace", "%v is negative", r.Grace)
	}
	if r.MaxFailures != nil && *r.MaxFailures < 0 {
		p.addf("--max-failures", "%d is negative: 0 stops at the first", *r.MaxFailures)
	}
}
