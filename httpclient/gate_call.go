package httpclient

// refused is the error of a call that the gate refuses, or nil.
func (c *call) refused() error {
	if c.client.gate == nil {
		return nil
	}
	if err := c.client.gate.checkRequest(c.req); err != nil {
		return c.fail(CodeUnsent, PhasePrepare, err, nil)
	}
	return nil
}

// judged asks the gate again: Config.Wrap and Config.Sign may have changed the request.
func (a *attempt) judged() error {
	if a.call.client.gate == nil {
		return nil
	}
	if h := a.call.hop; h != nil {
		h.sent(a.req)
	}
	return a.call.client.gate.checkRequest(a.req)
}
