package httpclient

import (
	"context"
	"net/http"
)

// inner is the round tripper below Config.Wrap: the breaker, the signature, the timeouts and limits of one attempt.
type inner struct{ client *Client }

func (i *inner) RoundTrip(req *http.Request) (*http.Response, error) {
	c := callOf(req.Context())
	if c == nil { // something in Config.Wrap sends a request of its own, such as for a token
		c = newCall(i.client, req)
		c.ended.Store(true) // no call of the user's, no event
	}
	return newAttempt(c, req).run() //nolint:contextcheck // the attempt's request has the context
}

// run goes through everything, and ends the attempt unless there is a body to read.
func (a *attempt) run() (*http.Response, error) {
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
		_ = resp.Body.Close() // nobody reads it
		return nil, a.fail(context.Cause(a.req.Context()))
	}
	a.call.firstByte.Store(int64(a.call.elapsed()))
	a.judge(resp)
	if resp.StatusCode == http.StatusSwitchingProtocols || resp.Body == http.NoBody {
		a.end(nil) // net/http is done with it; what follows a 101 is the caller's
	} else {
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
		return a.strip()
	}
	sign := a.call.client.config.Sign
	if sign == nil {
		return a.judged()
	}
	signed := false
	defer func() {
		if !signed { // it panicked, which the call catches
			a.end(errOver)
		}
	}()
	err := sign(a.req)
	signed = true
	if err != nil {
		return err
	}
	return a.judged()
}
