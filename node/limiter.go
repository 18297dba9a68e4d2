package node

import "github.com/headrace/headrace/adaptive"

// limiter returns the node's limiter, building its own on first use. It is
// nil for a node that has no limits, no law and no refusal yet.
func (s *settings) limiter() (*adaptive.Limiter, error) {
	if s.shared != nil {
		return s.shared, nil
	}
	if l := s.own.Load(); l != nil || !s.limits() {
		return l, nil
	}
	return s.build()
}

// limits reports whether the node has a limiter of its own from the start.
func (s *settings) limits() bool { return s.limited || s.known.preset }

// build makes the node's own limiter, once.
func (s *settings) build() (*adaptive.Limiter, error) {
	s.building.Lock()
	defer s.building.Unlock()
	if l := s.own.Load(); l != nil {
		return l, nil
	}
	l, err := adaptive.New(s.ownConfig())
	if err == nil {
		s.own.Store(l)
	}
	return l, err
}

// resetLimiter starts the node's own limiter anew, in place.
func (s *settings) resetLimiter() error {
	if s.shared != nil {
		return ErrSharedLimiter
	}
	if l := s.own.Load(); l != nil {
		return l.Reset()
	}
	return nil
}

// limiters is the limiter that the node shares with others or, since its
// Limiter method may have handed it out, has built; if any.
func (s *settings) limiters() []*adaptive.Limiter {
	if s.shared != nil {
		return []*adaptive.Limiter{s.shared}
	}
	if l := s.own.Load(); l != nil {
		return []*adaptive.Limiter{l}
	}
	return nil
}
