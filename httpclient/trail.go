package httpclient

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
)

// Hop is one request of Client.FollowAudited.
type Hop struct {
	ID     string // as in Error and event.Request
	Method string
	URL    string // without userinfo, fragment and query values
	Status int    // 0 if there was no response, or it was rejected unsent
	Bare   bool   // without credentials: it, or one before it, went to another origin
}

// hop is the layers' record of one request of FollowAudited, nil for other requests.
type hop struct {
	client  *Client // there may be others with the same context
	id      string
	url     *url.URL
	turned  bool     // a redirect led here
	foreign bool     // nothing of the user's is sent
	known   []string // credentials that the other side may repeat in its Location

	call   atomic.Pointer[call]
	signed atomic.Pointer[[]string] // the credentials that went to the wire
}

type hopKey struct{}

// joinHop finds the hop that c is, if it is one.
func (c *call) joinHop() {
	h, ok := c.req.Context().Value(hopKey{}).(*hop)
	if ok && h.client == c.client {
		c.hop, c.id = h, h.id
		h.call.CompareAndSwap(nil, c)
	}
}

func (h *hop) isForeign() bool { return h != nil && h.foreign }

// strip leaves nothing of the attempt's request that another origin must not see, whatever Config.Wrap added.
func (a *attempt) strip() error {
	h, req := a.call.hop, a.req
	if req.URL.String() != h.url.String() || req.Host != "" && req.Host != h.url.Host {
		return &GateError{
			Target: shown(req.URL), Rule: ruleWrap,
			Remedy: "add what belongs into the URL with Config.Sign, which is not asked for other origins",
		}
	}
	a.req = req.WithContext(req.Context())
	a.req.Header, a.req.Trailer = bare(req.Header), nil
	return a.judged()
}

// sent notes the credentials of req, as it goes to the wire.
func (h *hop) sent(req *http.Request) {
	own := secretsOf(&http.Request{URL: h.url}) // in the URL they are the caller's, and mostly none
	all := slices.DeleteFunc(secretsOf(req), func(secret string) bool { return slices.Contains(own, secret) })
	h.signed.Store(&all)
}

// secrets is what must not show up again, as far as it is known now.
func (h *hop) secrets() []string {
	if all := h.signed.Load(); all != nil {
		return append(slices.Clip(h.known), *all...)
	}
	return h.known
}

// fail returns the code and the secrets of an error of the hop: a rejection by the gate is an error of the redirect that led
// here.
func (h *hop) fail(code Code, cause error, secrets []string) (Code, []string) {
	if h == nil {
		return code, secrets
	}
	if h.turned && code == CodeUnsent && isA[*GateError](cause) {
		code = CodeRedirect
	}
	return code, append(secrets, h.secrets()...)
}

// shown is the URL for trails, errors and events.
func (h *hop) shown() string { return scrubText(shown(h.url), h.known) }

// url is the one that was asked for, as errors and events show it.
func (c *call) url() string {
	if c.hop != nil {
		return c.hop.shown()
	}
	return redactURL(c.req.URL)
}

// withHop marks req.
func withHop(ctx context.Context, req *http.Request, h *hop) *http.Request {
	return req.WithContext(context.WithValue(ctx, hopKey{}, h))
}
