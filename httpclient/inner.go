package httpclient

import (
	"context"
	"errors"
	"net/http"
)

// errSwitched is the error of a 101 that RFC 9110, section 15.2.2, does not allow.
var errSwitched = errors.New("the server switched to another protocol, which the request did not ask for")

// inner is the round tripper below Config.Wrap: the breaker, the signature, the timeouts and limits of one attempt.
type inner struct{ client *Client }

func (i *inner) RoundTrip(req *http.Request) (*http.Response, error) {
	c := callOf(req.Context())
	if c == nil { // something in Config.Wrap sends a request of its own, such as for a token
		c = newCall(i.client, req)
		c.ended.Store(true) // no call of the user's, no event
	}
	resp, err := newAttempt(c, req).run() //nolint:contextcheck // the attempt's request has the context
	if resp != nil {
		resp.Request = req // and not the one that was signed
	}
	return resp, err
}

// run goes through everything, and ends the attempt unless there is a body to read.
func (a *attempt) run() (*http.Response, error) {
	panicked := true
	defer func() {
		if panicked { // in Config.Sign, the breaker or Request.GetBody; the call catches it
			a.end(errOver)
		}
	}()
	resp, err := a.exchange()
	panicked = false
	return resp, err
}

func (a *attempt) exchange() (*http.Response, error) {
	if err := a.prepare(); err != nil {
		closeBody(a.req)
		return nil, a.fail(err)
	}
	resp, err := a.send()
	if err != nil {
		return nil, a.fail(err)
	}
	a.reach(stepBody)
	if a.req.Context().Err() != nil { // it was late in the very moment when the answer came
		_ = resp.Body.Close() // it is not read
		return nil, a.fail(context.Cause(a.req.Context()))
	}
	a.call.firstByte.Store(int64(a.call.elapsed()))
	if resp.StatusCode == http.StatusSwitchingProtocols && a.req.Header.Get("Upgrade") == "" {
		_ = resp.Body.Close() // it is the connection, which may stay open for ever
		return nil, a.fail(errSwitched)
	}
	a.judge(resp)
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		if conn := a.conn.Load(); conn != nil {
			conn.unbounded() // what follows is the caller's
		}
		a.end(nil)
	case resp.Body == http.NoBody:
		a.end(nil) // net/http has finished with it
	default:
		resp.Body = a.bounded(resp)
	}
	return resp, nil
}

// prepare is what has to be before anything is sent.
func (a *attempt) prepare() error {
	if a.call.client.conns.isClosed() {
		return ErrClosed
	}
	if err := a.admit(); err != nil {
		return err
	}
	if a.call.hop.isForeign() {
		if err := a.strip(); err != nil {
			return err
		}
	} else if sign := a.call.client.config.Sign; sign != nil {
		if err := sign(a.req); err != nil {
			return unsent(err)
		}
	}
	return a.sendable()
}

// sendable judges the request as it goes to the wire: Config.Wrap and Config.Sign may have changed it.
func (a *attempt) sendable() error {
	if err := a.judged(); err != nil {
		return err
	}
	if err := writable(a.req); err != nil {
		return err
	}
	if err := a.call.tooLong(a.req); err != nil {
		return err
	}
	a.boundUpload()
	return nil
}

// judged asks the gate again, because Config.Wrap and Config.Sign may have changed the request.
func (a *attempt) judged() error {
	if a.call.client.gate == nil {
		return nil
	}
	if h := a.call.hop; h != nil {
		h.sent(a.req)
	}
	return a.call.client.gate.checkRequest(a.req)
}
