package httpclient

import (
	"cmp"
	"net/http"

	"github.com/headrace/headrace/internal/invalid"
)

// Follow says how far [Client.FollowAudited] goes. The zero value is ready to use.
type Follow struct {
	// MaxHops is how many redirects are followed. 0 means 10.
	MaxHops int

	// BodyToOthers lets other origins than the first have the body, where a
	// redirect keeps it. Otherwise such a redirect is an error.
	BodyToOthers bool
}

// FollowAudited sends req and follows redirects, one request after the other,
// each through Config.Gate, which must be set. It returns the last answer, which does not redirect, and the
// trail of all requests, the first included; the trail is there with an error too.
//
// An origin is scheme, host and port. Another one than the first gets no credentials: no header but those
// of the content, the range and the ids, and nothing of Config.Sign; what Config.Wrap adds is taken off again. It stays so
// on the way back. A value of the URL's query is no credential to it, unless Config.Sign or Config.Wrap added it.
//
// The method changes as RFC 9110, section 15.4, says: 303 makes a GET of everything but HEAD, 301 and 302 of a
// POST. Otherwise the body is sent again, for which Request.GetBody is needed. No Referer is added.
//
// It refuses with an *Error with CodeRedirect, with a [*GateError] in its tree, what the gate refuses, a step from https to http, a loop,
// more redirects than Follow.MaxHops, and a redirect without a Location. What is refused of req itself is CodeUnsent.
// Config.FailOnRedirect does not count here. Each hop is told as a request of its own, and has
// the whole of Timeouts. Close the body of the answer.
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
			client: c, id: cmp.Or(next.Header.Get(correlationHeader), c.ids.next()),
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
		problems.Addf("Gate", "nil; FollowAudited needs one: &Gate{} lets https through to public hosts")
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
