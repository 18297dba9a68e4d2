package httpclient

import (
	"cmp"
	"net/url"
	"time"
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

	// Method is the method of HTTP, but CONNECT. Empty means POST.
	Method string

	// ContentType is that of the payload. Empty means application/json.
	ContentType string

	// Secret is sent as Auth says, to the scheme, host and port of BaseURL only. It is read at each attempt. Where
	// BaseURL is http:// it goes as it is, readable for whoever is in between: that is for hosts of your own network.
	Secret Secret

	// Auth is how. Empty means AuthNone without a Secret, AuthHeader if AuthHeader is
	// set, and else AuthBearer.
	Auth Auth

	// AuthHeader is the name of the header for AuthHeader, such as X-Api-Key. One that net/http or the client sets,
	// such as Host or Content-Type, is refused.
	AuthHeader string

	// Headers are sent with each request. They are no place for the secret.
	Headers map[string]string

	// IdempotencyKeys sends a random Idempotency-Key with each call, the same in all its attempts. It lets Retries, and
	// a limiter, send again what may have been done already: only for a service that heeds such keys.
	IdempotencyKeys bool

	// Timeout bounds each attempt as a whole, from when Config.Wrap let it go, until its body is
	// read. 0 means Config.Timeouts.Call, whose default is 10 min.
	Timeout time.Duration

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
	// service. The endpoint does not close it. Config, Secret, AuthHeader, Timeout, Retries and MaxResponse are then
	// the client's, and have to be left out here.
	Client *Client
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
	return own
}

func (c EndpointConfig) contentType() string { return cmp.Or(c.ContentType, "application/json") }
