package providertest

import (
	"fmt"
	"net/http"
	"time"
)

// Handler returns the provider as an http.Handler, to be mounted in a server of
// one's own. It shares limits and ledger with URL. See [Server.Close] for what
// it does after that.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// serve handles one request from its first byte to its last.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	req, bad := readRequest(w, r)
	if !s.enter() {
		errClosed().write(w)
		return
	}
	defer s.wg.Done()
	if bad != nil {
		s.note(Arrival{Key: req.Key, Status: bad.status})
		bad.write(w)
		return
	}
	if s.config.Fault != nil && s.faulted(w, req) {
		return
	}
	seq, nth, refusal := s.arrive(req)
	defer s.end(seq, 0) // whatever has not ended by then was given up
	if refusal == NotRefused {
		s.answer(w, r, req, seq, nth)
	} else {
		s.refuse(w, r, req, seq, refusal)
	}
}

// faulted asks Config.Fault and reports whether that answered the request.
func (s *Server) faulted(w http.ResponseWriter, req Request) bool {
	fault, bad := guard("Fault", func() *Fault { return s.config.Fault(req) })
	arrival := Arrival{Key: req.Key, Model: req.Model, PromptTokens: req.PromptTokens, Faulted: true}
	switch {
	case bad != nil:
		arrival.Status = bad.status
		s.note(arrival)
		bad.write(w)
	case fault != nil:
		arrival.Status = fault.status()
		s.note(arrival)
		fault.write(w)
	default:
		return false
	}
	return true
}

// answer serves the nth admitted call.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, req Request, seq int64, nth uint64) {
	latency, bad := guard("Latency", func() time.Duration { return draw(s.config.Latency, s.config.Seed, nth) })
	if bad == nil && !s.pause(w, r, seq, latency) {
		return
	}
	var reply string
	if bad == nil {
		reply, bad = guard("Reply", func() string { return s.config.Reply(req) })
	}
	switch {
	case bad != nil:
		s.end(seq, bad.status)
		bad.write(w)
	case r.Context().Err() == nil:
		advice := s.end(seq, http.StatusOK)
		s.setHeaders(w.Header(), advice, seq)
		writeJSON(w, http.StatusOK, newChatAnswer(req, reply, seq, time.Now()))
	}
}

// refuse answers a request that a limit turned away.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, req Request, seq int64, refusal Refusal) {
	if !s.pause(w, r, seq, s.config.RefusalLatency) {
		return
	}
	advice := s.end(seq, http.StatusTooManyRequests)
	s.setHeaders(w.Header(), advice, seq)
	if refusal != RefusedConcurrency {
		advice.setRetryAfter(w.Header(), s.config.RetryAfter)
	}
	tooMany(refusal, req.Model).write(w)
}

// pause waits for d. It reports false when there is nothing more to do: the
// client went away, or the server was closed and said so.
func (s *Server) pause(w http.ResponseWriter, r *http.Request, seq int64, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	case <-s.closing:
		s.end(seq, http.StatusServiceUnavailable)
		errClosed().write(w)
		return false
	}
}

// setHeaders adds what answers and refusals have in common.
func (s *Server) setHeaders(h http.Header, a advice, seq int64) {
	h.Set("X-Request-Id", fmt.Sprintf("req_%012d", seq))
	if s.config.Headers {
		a.setQuota(h)
	}
}
