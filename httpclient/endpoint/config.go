package endpoint

import (
	"cmp"
	"net/url"
	"time"

	"github.com/headrace/headrace/httpclient"
)

// Config describes an [Endpoint]. Only BaseURL is required.
type Config struct {
	// Name appears in answers, errors and events. Empty means Provider, or the host.
	Name string

	// Provider is a provider of the presets, such as "openai", for Endpoint.Dialect. Empty means by host.
	Provider string

	// BaseURL, such as https://api.openai.com/v1, and Path, such as /chat/completions, are joined. Either
	// may have a query, but no secret. A name in braces in Path, such as /batches/{id}, is replaced by the
	// value that Params.Path has for it in each call.
	BaseURL, Path string

	// Method is the HTTP method, except CONNECT. Empty means POST.
	Method string

	// ContentType is that of the payload. Empty means application/json.
	ContentType string

	// Secret is sent only to the scheme, host and port of BaseURL, unencrypted if that is http. It is read
	// at each attempt.
	Secret httpclient.Secret

	// Auth is how the Secret is sent. Empty means AuthNone without a Secret, AuthHeader if AuthHeader is
	// set, and otherwise AuthBearer.
	Auth Auth

	// AuthHeader is the header for AuthHeader, such as X-Api-Key, but none that net/http or the client
	// sets.
	AuthHeader string

	// Headers are sent with each request. They must not hold the secret.
	Headers map[string]string

	// IdempotencyKeys sends a random Idempotency-Key with each call, the same in all attempts. It allows
	// headrace.Transport to retry calls that may have succeeded; use it only if the service honours such
	// keys.
	IdempotencyKeys bool

	// Timeout bounds each attempt, from the end of Config.Wrap until the body is read. 0 means
	// Config.Timeouts.Call.
	Timeout time.Duration

	// MaxRetries is how often Call repeats a failed attempt, by the rules of headrace.Transport: any
	// method if nothing was done, such as after a 429, and otherwise idempotent ones. A Retry-After of
	// at most a minute is waited for. 0 means never. Leave it 0 with a Transport in Config.Wrap and in
	// an executor, which retry themselves.
	MaxRetries int

	// MaxResponse bounds the response body, in bytes. 0 means Config.MaxResponse.
	MaxResponse int64

	// CheckPayload validates the payload of each call before it is sent; an io.Reader is passed as its
	// bytes. It must be safe for concurrent use. Nil accepts everything.
	CheckPayload func(payload any) error

	// CheckAnswer validates each response with a 2xx status within the attempt, so that a retry around
	// Call sees its error, which has httpclient.CodeAnswer. It must not change the Answer and must be safe for
	// concurrent use. Nil rejects HTML, which comes from proxies and login pages, a body that is not
	// JSON although its Content-Type is, and a JSON object that holds nothing but an "error".
	CheckAnswer func(*Answer) error

	// Config is that of the endpoint's own client. Limits and retries go into its Wrap:
	//
	//	Wrap: []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
	//		return headrace.Transport(next, presets.OpenAITier1)
	//	}},
	Config httpclient.Config

	// Client is used instead of an own client. The endpoint does not close it. Config, Secret, AuthHeader,
	// Timeout and MaxResponse must then be zero.
	Client *httpclient.Client
}

// client is the Config of the endpoint's own client. c must be valid.
func (c Config) client(base *url.URL) httpclient.Config {
	own := c.Config
	own.Service = cmp.Or(own.Service, c.Name)
	own.Timeouts.Call = cmp.Or(c.Timeout, own.Timeouts.Call)
	own.MaxResponse = cmp.Or(c.MaxResponse, own.MaxResponse)
	switch c.auth() {
	case AuthBearer:
		own.Sign = httpclient.OnlyTo(base.String(), httpclient.Bearer(c.Secret))
	case AuthHeader:
		own.Sign = httpclient.OnlyTo(base.String(), httpclient.HeaderAuth(c.AuthHeader, c.Secret))
	case AuthNone:
	}
	return own
}

func (c Config) contentType() string { return cmp.Or(c.ContentType, "application/json") }
