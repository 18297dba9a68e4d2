package providertest

import "time"

// note writes down an arrival that the limits never saw.
func (s *Server) note(a Arrival) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.At = time.Now()
	a.Done = a.At
	s.book.open(a)
}

// arrive lets the limits judge a request and writes it down, in one step. It
// returns the arrival's number and, of an admitted one, its number among those.
func (s *Server) arrive(req Request) (seq int64, nth uint64, refusal Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	refusal = s.gate.arrive(now)
	seq = s.book.open(Arrival{
		At: now, Key: req.Key, Model: req.Model, PromptTokens: req.PromptTokens,
		Admitted: refusal == NotRefused, Refused: refusal,
	})
	return seq, uint64(s.book.counts.Admitted), refusal //nolint:gosec // a count
}

// end notes how a request was answered, gives back its slot, and returns what the
// limits look like at that instant. It comes before the answer is written, so
// that a client that has its answer finds the slot free and the ledger complete.
// After the first end of a request the others change nothing.
func (s *Server) end(seq int64, status int) advice {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.book.end(seq, status, now) {
		s.gate.leave()
	}
	var a advice
	_, a.wait = s.gate.judge(now)
	a.quota, a.hasQuota = s.gate.quota(now)
	return a
}
