package httpclient

import (
	"cmp"
	"net/http"

	"github.com/headrace/headrace/internal/header"
	"github.com/headrace/headrace/internal/invalid"
)

// Follow bounds Client.FollowAudited. The zero value is ready to use.
type Follow struct {
	// MaxHops is the maximum number of redirects. 0 means 10.
	MaxHops int

	// BodyToOthers allows sending the body to other origins than the first, where a redirect keeps it.
	// Otherwise such a redirect is an error.
	BodyToOthers bool
}

// FollowAudited sends req and follows redirects, each through Config.Gate, which must be set. It
// returns the last response and the trail of all requests, also with an error. Close the body of the
// response.
//
// Requests to another origin (scheme, host, port) than the first, and all after them, carry no
// credentials. The method changes as in RFC 9110, section 15.4. A body that is sent again needs
// Request.GetBody.
//
// A rejected redirect is an *Error with CodeRedirect and a *GateError in its tree; if req itself is
// rejected the code is CodeUnsent. Config.FailOnRedirect is ignored. Each hop emits its own event and
// has the whole of Timeouts. The rules are in docs/http.md.
func (c *Client) FollowAudited(req *http.Request, f Follow) (*http.Response, []Hop, error) {
	if err := c.checkFollow(req, f); err != nil {
		closeBody(req)
		return nil, nil, err
	}
	hasBody := req.Body != nil && req.Body != http.NoBody
	w := newWalk(method(req), req.URL, hasBody, cmp.Or(f.MaxHops, defaultMaxHops))
	known := secretsOf(&http.Request{Header: req.Header})
	var trail []Hop
	for next := req; ; {
		h := &hop{
			client: c, id: cmp.Or(next.Header.Get(header.CorrelationID), c.ids.next()),
			url: w.at, turned: len(trail) > 0, foreign: w.foreign, known: known,
		}
		trail = append(trail, Hop{ID: h.id, Method: w.method, URL: h.shown(), Bare: w.foreign})
		resp, err := c.hop(withHop(req.Context(), next, h))
		if err != nil {
			return nil, trail, err
		}
		trail[len(trail)-1].Status = resp.StatusCode
		if !redirects(resp) {
			return resp, trail, nil
		}
		_ = resp.Body.Close() // reads what is left of a small one, for the connection's sake
		known = h.secrets()
		next, err = w.request(req, resp, h, f.BodyToOthers)
		if err != nil {
			return nil, trail, h.refuse(resp, err)
		}
	}
}

func (c *Client) checkFollow(req *http.Request, f Follow) error {
	problems := invalid.Problems{Owner: "httpclient"}
	if c.gate == nil {
		problems.Addf("Gate", "is nil, but FollowAudited needs it: &Gate{} allows https to public hosts")
	}
	if f.MaxHops < 0 {
		problems.Addf("Follow.MaxHops", "%d; want at least 1, or 0 for %d", f.MaxHops, defaultMaxHops)
	}
	if req.URL == nil {
		problems.Addf("Request.URL", "nil; want a URL")
	}
	if err := problems.Err(); err != nil {
		return c.foreign(req, err)
	}
	return nil
}

// hop sends one request, without http.Client, which has its own view of redirects.
func (c *Client) hop(req *http.Request) (*http.Response, error) {
	resp, err := c.standard.Transport.RoundTrip(req)
	switch {
	case err == nil && resp.Body == nil: // of a round tripper in Config.Wrap
		resp.Body = http.NoBody
	case err != nil && !isA[*Error](err):
		return nil, c.foreign(req, err)
	}
	return resp, err
}

// request makes the one that follows resp.
func (w *walk) request(first *http.Request, resp *http.Response, h *hop, others bool) (*http.Request, error) {
	if refused := w.follow(answer{
		status: resp.StatusCode, locations: resp.Header.Values("Location"),
		secrets: h.secrets(), replays: first.GetBody != nil, others: others,
	}); refused != nil {
		return nil, refused
	}
	req := first.Clone(first.Context())
	req.Method, req.URL, req.Trailer = w.method, w.at, nil
	if req.Header == nil {
		req.Header = make(http.Header)
	}
	if w.foreign {
		req.Header, req.Host = bare(req.Header), ""
	}
	if !w.body {
		withoutBody(req.Header)
		req.Body, req.GetBody, req.ContentLength, req.TransferEncoding = nil, nil, 0, nil
		return req, nil
	}
	body, err := first.GetBody()
	if err != nil {
		return nil, err
	}
	req.Body = body
	return req, nil
}

// refuse makes the error of an answer that is not followed.
func (h *hop) refuse(resp *http.Response, why error) error {
	call := h.call.Load()
	failed := call.fail(CodeRedirect, PhaseBody, scrub(why, h.secrets()), nil)
	failed.StatusCode = resp.StatusCode
	return failed
}
