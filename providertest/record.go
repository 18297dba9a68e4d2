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

// arrive lets the limits judge a request that reserves cost and writes it down,
// in one step. It returns the arrival's number and, of an admitted one, its
// number among those.
func (s *Server) arrive(req Request, cost Tokens) (seq int64, nth uint64, refusal reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	refusal = s.gate.arrive(now, cost)
	seq = s.book.open(Arrival{
		At: now, Key: req.Key, Path: req.Path, Model: req.Model, Reserved: cost,
		Admitted: refusal == notRefused, Refused: string(refusal),
	})
	return seq, uint64(s.book.counts.Admitted), refusal //nolint:gosec // a count
}

// end notes how a request was answered, gives back its slot, settles its tokens,
// and returns what the limits look like at that instant. It comes before the
// answer, or the last event of a stream, is written, so that a client that has
// its answer finds the slot free and the ledger complete. After the first end of
// a request the others change nothing.
func (s *Server) end(seq int64, status int, whole bool, used Tokens) advice {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.book.end(seq, status, whole, used, now) {
		s.gate.leave()
		s.gate.settle(now, s.book.arrivals[seq-1].Reserved, used)
	}
	return s.adviceLocked(seq, now)
}

// look returns what the limits look like while a request is in progress.
func (s *Server) look(seq int64) advice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.adviceLocked(seq, time.Now())
}

func (s *Server) adviceLocked(seq int64, now time.Time) advice {
	a := advice{at: now, charged: s.book.arrivals[seq-1].Reserved}
	_, a.wait = s.gate.judge(now, a.charged)
	if now := s.book.arrivals[seq-1]; !now.Admitted || !now.Done.IsZero() {
		a.charged = now.Used
	}
	a.quota, a.hasQuota = s.gate.quota(now)
	for i := range a.tokens {
		if b := &s.gate.pool[i]; b.inUse() {
			a.tokens[i] = b.quota()
		}
	}
	return a
}
