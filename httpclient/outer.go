package httpclient

import (
	"errors"
	"net/http"

	"github.com/headrace/headrace/internal/panics"
)

// outer is the outermost round tripper: ids, the type of errors, the event.
type outer struct {
	client *Client
	next   http.RoundTripper
}

func (o *outer) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil { // an http.Client has checked it before
		closeBody(req)
		return nil, errors.New("httpclient: the request has no URL")
	}
	c := newCall(o.client, req)
	if o.client.conns.isClosed() {
		closeBody(req)
		return nil, o.refuse(c, c.fail(CodeUnsent, PhasePrepare, ErrClosed, nil))
	}
	if err := c.refused(); err != nil {
		closeBody(req)
		return nil, o.refuse(c, err)
	}
	if err := c.tooLong(c.req); err != nil {
		closeBody(req)
		return nil, o.refuse(c, c.fail(CodeBodyLimit, PhasePrepare, err, nil))
	}
	resp, err := o.send(c)
	if err != nil {
		return nil, o.refuse(c, c.typed(err))
	}
	c.status, c.proto = resp.StatusCode, resp.Proto
	c.answered.Store(true)
	if c.hop == nil && redirects(resp) && (o.client.config.FailOnRedirect || leadsNowhere(c.req, resp)) {
		_ = resp.Body.Close() // it is not read
		failed := c.fail(CodeRedirect, PhaseBody, nil, nil)
		failed.StatusCode = resp.StatusCode
		return nil, o.refuse(c, failed)
	}
	resp.Request = c.req // and not the one with the credentials
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols, resp.Body == nil, resp.Body == http.NoBody:
		resp.Request = c.known()
		c.end(nil) // what follows a 101 is not a body, and must remain an io.Writer
	default:
		c.body = callBody{resp.Body, c}
		resp.Body = &c.body
		c.endLate()
	}
	return resp, nil
}

func (o *outer) send(c *call) (resp *http.Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			closeBody(c.req) // the code that panicked may not have closed it
			err = panics.Error(v)
		}
	}()
	if _, direct := o.next.(*inner); direct { // nothing in between sees the request, so one copy is enough
		a := newAttempt(c, c.req)
		c.dress(a.req)
		return a.run()
	}
	return checked(o.next.RoundTrip(c.outgoing()))
}

func (o *outer) refuse(c *call, err error) error {
	c.end(err)
	return err
}

// CloseIdleConnections is for http.Client's method of this name.
func (o *outer) CloseIdleConnections() { o.client.transport.CloseIdleConnections() }

func redirects(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	default:
		return false
	}
}

// leadsNowhere reports a redirect that http.Client would turn into an error of its own, which could not be distinguished from others.
func leadsNowhere(req *http.Request, resp *http.Response) bool {
	_, err := req.URL.Parse(resp.Header.Get("Location"))
	return err != nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // a RoundTripper has to, and cannot report it
	}
}
