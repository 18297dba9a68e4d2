package providertest

import "net/http"

// Handler returns the provider as an http.Handler for another server. It shares limits and ledger with
// URL.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// serve handles one request from its first byte to its last.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	req, to, bad := s.readRequest(w, r)
	s.handle(w, r, req, to, bad)
}

// handle answers a request that has been read.
func (s *Server) handle(w http.ResponseWriter, r *http.Request, req Request, to route, bad *failure) {
	c := &call{server: s, w: w, r: r, req: req, route: to, speech: s.config.Dialect.speech(req.Path)}
	if !s.enter() {
		c.fail(errClosed())
		return
	}
	defer s.wg.Done()
	if bad != nil {
		s.note(Arrival{Key: req.Key, Path: req.Path, Status: bad.status})
		c.fail(bad)
		return
	}
	if s.config.Fault != nil && c.faulted() {
		return
	}
	c.judged()
}

// call is one request on its way through the server.
type call struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	req    Request
	route  route
	speech speech
	fault  *Fault // one that spoils the answer; nil for none
	seq    int64  // in the ledger, once the limits have judged
}

// faulted asks Config.Fault and reports whether that answered the request.
func (c *call) faulted() bool {
	fault, bad := guard("Fault", func() *Fault { return c.server.config.Fault(c.req) })
	arrival := Arrival{
		Key: c.req.Key, Path: c.req.Path, Model: c.req.Model, Faulted: true,
	}
	switch {
	case bad != nil:
		arrival.Status = bad.status
		c.server.note(arrival)
		c.fail(bad)
		return true
	case fault == nil:
		return false
	}
	c.fault = fault
	if fault.Admit {
		return false
	}
	f := fault.failure(c.speech)
	if fault.Break != BreakHeader {
		arrival.Status = f.status
	}
	c.server.note(arrival)
	if !c.server.sleep(c.r, fault.Delay) {
		return true
	}
	body := []byte(fault.Body)
	if len(body) == 0 && f.status >= http.StatusBadRequest {
		body = encode(c.speech.failure(f, 0))
	}
	contentType := jsonType
	if f.status >= http.StatusBadRequest {
		contentType = c.speech.errorType
	}
	c.send(f.status, contentType, body)
	return true
}

// judged lets the limits judge the call and answers accordingly.
func (c *call) judged() {
	seq, nth, refusal := c.server.arrive(c.req, c.speech.reserved(c.req))
	c.seq = seq
	defer c.end(0, 0, false) // a call that has not ended by then was abandoned
	if refusal == notRefused {
		c.answer(nth)
	} else {
		c.refuse(refusal)
	}
}
