package httpclient

import (
	"errors"
	"io"
	"net/http"
)

// outer is the outermost round tripper: ids, the type of errors, the event.
type outer struct {
	client *Client
	next   http.RoundTripper
}

func (o *outer) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil { // whoever asked a http.Client never gets here
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
	if err := c.uploadTooLong(); err != nil {
		closeBody(req)
		return nil, o.refuse(c, c.fail(CodeBodyLimit, PhasePrepare, err, nil))
	}
	resp, err := o.send(c)
	if err != nil {
		return nil, o.refuse(c, c.typed(err))
	}
	c.status, c.proto = resp.StatusCode, resp.Proto
	c.answered.Store(true)
	if o.client.config.FailOnRedirect && c.hop == nil && redirects(resp) {
		_ = resp.Body.Close() // nobody reads it
		failed := c.fail(CodeRedirect, PhaseBody, nil, nil)
		failed.StatusCode = resp.StatusCode
		return nil, o.refuse(c, failed)
	}
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		c.end(nil) // what follows is no body, and has to stay an io.Writer
	case resp.Body == nil || resp.Body == http.NoBody:
		c.end(nil)
	default:
		c.body = callBody{resp.Body, c}
		resp.Body = &c.body
		c.endLate()
	}
	return resp, nil
}

func (o *outer) send(c *call) (resp *http.Response, err error) {
	defer c.caught(&err)
	if _, direct := o.next.(*inner); direct { // nobody in between sees the request, so one copy of it is enough
		a := newAttempt(c, c.req)
		c.dress(a.req)
		c.boundUpload(a.req)
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

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // a RoundTripper has to, and cannot report it
	}
}

// callBody ends the call when its body ends, wherever that came from.
type callBody struct {
	io.ReadCloser
	call *call
}

func (b *callBody) Read(p []byte) (int, error) {
	n, err := b.call.receive(b.ReadCloser.Read(p))
	switch {
	case err == io.EOF: //nolint:errorlint // the bare one is the end; an *Error may have it for its cause
		b.call.end(nil)
	case err != nil:
		b.call.end(err)
	}
	return n, err
}

func (b *callBody) Close() error {
	err := b.ReadCloser.Close()
	b.call.end(nil)
	return err
}
