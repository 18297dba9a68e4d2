package httpclient

import (
	"cmp"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/near"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/retry"
)

// Auth is how an [Endpoint] sends its Secret.
type Auth string

// The ways to send a secret.
const (
	AuthBearer Auth = "bearer" // Authorization: Bearer ...
	AuthHeader Auth = "header" // in the header that EndpointConfig.AuthHeader names
	AuthNone   Auth = "none"
)

// EndpointConfig describes an [Endpoint]. Only BaseURL has no default. NewEndpoint keeps a copy.
type EndpointConfig struct {
	// Name is the endpoint's in answers, errors and events. Empty means Provider, or the host.
	Name string

	// Provider is whose service it is, by its name in the presets, such as "openai": the dialect that
	// Endpoint.Dialect tells. Empty means that the host tells it.
	Provider string

	// BaseURL is where the service is, such as https://api.openai.com/v1, and Path is
	// what is asked for there, such as /chat/completions: it goes below the path of BaseURL, with a slash at its beginning or without.
	// Either may have a query; that of BaseURL comes first. A secret belongs into neither.
	BaseURL, Path string

	// Method is the method of HTTP. Empty means POST.
	Method string

	// ContentType is that of the payload. Empty means application/json.
	ContentType string

	// Secret is sent as Auth says, to the scheme, host and port of BaseURL only. It is read at each attempt.
	Secret Secret

	// Auth is how. Empty means AuthNone without a Secret, AuthHeader if AuthHeader is
	// set, and else AuthBearer.
	Auth Auth

	// AuthHeader is the name of the header for AuthHeader, such as X-Api-Key.
	AuthHeader string

	// Headers are sent with each request. They are no place for the secret.
	Headers map[string]string

	// IdempotencyKeys sends a random Idempotency-Key with each call, the same in all its attempts. It lets Retries, and
	// a limiter, send again what may have been done already: only for a service that heeds such keys.
	IdempotencyKeys bool

	// Timeout bounds each attempt as a whole, from when Config.Wrap let it go, until its body is
	// read. 0 means Config.Timeouts.Call, whose default is 10 min.
	Timeout time.Duration

	// Retries is how often at most a failed call is sent again, as by [Retry]. 0 means never. Leave it 0 with a
	// limiter in Config.Wrap that retries by itself, as headrace.Transport does.
	Retries int

	// MaxResponse is how long the body of an answer may be, in bytes. 0 means Config.MaxResponse, whose default is 64 MiB.
	MaxResponse int64

	// CheckPayload is asked about the payload of each call before anything is sent. It gets what
	// Call got, but the bytes of an io.Reader. Its error fails the call. It must
	// be safe for concurrent use. Nil means that every payload will do.
	CheckPayload func(payload any) error

	// Config is of the client that the endpoint makes for itself, but for what is said
	// above. The place for a limiter is its Wrap:
	//
	//	Wrap: []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
	//		return headrace.Transport(next, presets.OpenAITier1)
	//	}},
	Config Config

	// Client is one to send by in place of an own one, such as one for all endpoints of a
	// service. The endpoint does not close it. Config, Secret, Timeout, Retries and MaxResponse are then
	// the client's, and have to be left out here.
	Client *Client
}

// Validate returns everything that is wrong with c, joined, each problem as a
// [*FieldError] that names its field, or nil. A Secret of an environment variable is read. No problem shows a secret.
func (c EndpointConfig) Validate() error {
	owner := "httpclient.Endpoint"
	if c.Name != "" {
		owner += fmt.Sprintf(" %q", c.Name)
	}
	p := invalid.Problems{Owner: owner}
	c.validateURL(&p)
	if _, err := dialectOf(c.Provider, ""); err != nil {
		p.Addf("Provider", "%v", err)
	}
	if !isToken(cmp.Or(c.Method, http.MethodPost)) || strings.ToUpper(c.Method) != c.Method {
		p.Addf("Method", "%q is no method of HTTP; want such as POST, in upper case", c.Method)
	}
	if _, _, err := mime.ParseMediaType(c.contentType()); err != nil {
		p.Addf("ContentType", "%q is no media type; want such as application/json", c.ContentType)
	}
	secret := c.validateAuth(&p)
	c.validateHeaders(&p, secret)
	c.validateClient(&p)
	return p.Err()
}

func (c EndpointConfig) validateURL(p *invalid.Problems) {
	if _, problem := parseBase(c.BaseURL); problem != "" {
		p.Addf("BaseURL", "%s", problem)
	}
	if problem := pathProblem(c.Path); problem != "" {
		p.Addf("Path", "%s", problem)
	}
}

// validateAuth returns the value of the secret if it can be had by now.
func (c EndpointConfig) validateAuth(p *invalid.Problems) string {
	var value string
	if c.Secret.steady {
		var err error
		if value, err = c.Secret.Reveal(); err != nil {
			p.Addf("Secret", "%s", strings.TrimPrefix(err.Error(), "httpclient: "))
		} else if problem := headerProblem(value); problem != "" {
			p.Addf("Secret", "it %s", problem)
		}
	}
	auth := c.auth()
	switch auth {
	case AuthBearer, AuthHeader:
		if c.Secret.IsZero() && c.Client == nil {
			p.Addf("Secret", "is missing, and Auth is %q; set one, or Auth to %q", auth, AuthNone)
		}
	case AuthNone:
		if !c.Secret.IsZero() {
			p.Addf("Auth", "%q contradicts Secret; leave one of them out", auth)
		}
	default:
		all := []Auth{AuthBearer, AuthHeader, AuthNone}
		p.Addf("Auth", "is unknown; %s", meant(string(auth), all)) // not shown: it may be "Bearer ..."
	}
	switch {
	case auth == AuthHeader && c.AuthHeader == "":
		p.Addf("AuthHeader", "is missing, and Auth is %q; want the name of a header, such as X-Api-Key", auth)
	case auth == AuthHeader && !isToken(c.AuthHeader):
		p.Addf("AuthHeader", "%q is no name of a header; want such as X-Api-Key", token(c.AuthHeader))
	case auth != AuthHeader && c.AuthHeader != "":
		p.Addf("AuthHeader", "contradicts Auth, %q; leave one of them out", auth)
	}
	return value
}

func (c EndpointConfig) validateHeaders(p *invalid.Problems, secret string) {
	seen := map[string]string{}
	auth := c.authName()
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		field, canonical, value := fmt.Sprintf("Headers[%s]", name), http.CanonicalHeaderKey(name), c.Headers[name]
		switch {
		case !isToken(name):
			p.Addf("Headers", "%q is no name of a header", token(name))
			continue
		case seen[canonical] != "":
			p.Addf(field, "is %s again; leave one out", seen[canonical])
		case canonical == auth:
			p.Addf(field, "is where Auth puts the Secret; leave one of them out")
		case canonical == "Content-Type":
			p.Addf(field, "is set by ContentType; leave it out here")
		case canonical == "Idempotency-Key":
			p.Addf(field, "would be the same for all calls; set IdempotencyKeys, which makes one for each")
		case canonical == "Host", canonical == "Content-Length", canonical == "Transfer-Encoding", canonical == "Trailer":
			p.Addf(field, "is set by net/http; leave it out")
		}
		seen[canonical] = name
		if problem := headerProblem(value); problem != "" && value != "" {
			p.Addf(field, "the value %s", problem)
		}
		if len(secret) >= minSecret && strings.Contains(value, secret) {
			p.Addf(field, "has the Secret in it, which Auth sends; leave it out here")
		}
	}
	if len(secret) >= minSecret && strings.Contains(c.BaseURL+c.Path, secret) {
		p.Addf("BaseURL", "it or Path has the Secret in it, which Auth sends; leave it out here")
	}
}

func (c EndpointConfig) validateClient(p *invalid.Problems) {
	if c.Timeout < 0 {
		p.Addf("Timeout", "%v; want a positive duration, or 0 for that of Config", c.Timeout)
	}
	if c.Retries < 0 {
		p.Addf("Retries", "%d; want at least 1, or 0 for none", c.Retries)
	}
	if c.MaxResponse < 0 {
		p.Addf("MaxResponse", "%d; want at least 1, or 0 for that of Config", c.MaxResponse)
	}
	if c.Client != nil {
		for _, one := range []struct {
			field string
			set   bool
		}{
			{"Config", !reflect.ValueOf(c.Config).IsZero()},
			{"Secret", !c.Secret.IsZero()},
			{"Auth", c.Auth != "" && c.Auth != AuthNone},
			{"Timeout", c.Timeout > 0},
			{"Retries", c.Retries > 0},
			{"MaxResponse", c.MaxResponse > 0},
		} {
			if one.set {
				p.Addf(one.field, "contradicts Client, which has its own; leave one of them out")
			}
		}
		return
	}
	if c.Timeout > 0 && c.Config.Timeouts.Call != 0 {
		p.Addf("Timeout", "contradicts Config.Timeouts.Call; leave one of them out")
	}
	if c.Timeout > 0 && c.Config.Timeouts.NoCall {
		p.Addf("Timeout", "contradicts Config.Timeouts.NoCall; leave one of them out")
	}
	if c.MaxResponse > 0 && c.Config.MaxResponse != 0 {
		p.Addf("MaxResponse", "contradicts Config.MaxResponse; leave one of them out")
	}
	if c.Config.Sign != nil && !c.Secret.IsZero() {
		p.Addf("Secret", "contradicts Config.Sign; leave one of them out")
	}
	p.AddPart("Config", c.Config.Validate())
}

// client is the Config of the endpoint's own client. c must be valid.
func (c EndpointConfig) client(base *url.URL) Config {
	own := c.Config
	own.Service = cmp.Or(own.Service, c.Name)
	own.Timeouts.Call = cmp.Or(c.Timeout, own.Timeouts.Call)
	own.MaxResponse = cmp.Or(c.MaxResponse, own.MaxResponse)
	switch c.auth() {
	case AuthBearer:
		own.Sign = OnlyTo(base.String(), Bearer(c.Secret))
	case AuthHeader:
		own.Sign = OnlyTo(base.String(), HeaderAuth(c.AuthHeader, c.Secret))
	case AuthNone:
	}
	if c.Retries > 0 {
		own.Wrap = slices.Concat([]func(http.RoundTripper) http.RoundTripper{Retry(retry.Policy{MaxAttempts: c.Retries + 1})}, own.Wrap)
	}
	return own
}

func (c EndpointConfig) auth() Auth {
	switch {
	case c.Auth != "":
		return c.Auth
	case c.AuthHeader != "":
		return AuthHeader
	case c.Secret.IsZero():
		return AuthNone
	default:
		return AuthBearer
	}
}

// authName is the header that the secret goes into, or "".
func (c EndpointConfig) authName() string {
	switch c.auth() {
	case AuthBearer:
		return "Authorization"
	case AuthHeader:
		return http.CanonicalHeaderKey(c.AuthHeader)
	case AuthNone:
	}
	return ""
}

func (c EndpointConfig) contentType() string { return cmp.Or(c.ContentType, "application/json") }

// dialectOf is how a provider of the presets, or a host, speaks.
func dialectOf(provider, host string) (dialect.Dialect, error) {
	if provider == "" {
		return dialect.ByHost(host), nil
	}
	for _, p := range presets.All() {
		if p.Provider == provider {
			return p.Dialect, nil
		}
	}
	if d, err := dialect.ByName(provider); err == nil {
		return d, nil
	}
	return nil, fmt.Errorf("%q is no provider of the presets; %s", provider, meant(provider, presets.Providers()))
}

// meant suggests what a misspelt name may have been.
func meant[S ~string](name string, known []S) string {
	const most = 2
	say, between, end, names := "did you mean ", " or ", "?", near.Names(name, known, most)
	if len(names) == 0 {
		say, between, end, names = "want ", ", ", "", known
	}
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = string(n)
	}
	return say + strings.Join(texts, between) + end
}
