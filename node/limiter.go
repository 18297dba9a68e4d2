package node

import "github.com/headrace/headrace/adaptive"

// limiter returns the node's limiter, building its own on first use. It is
// nil for a node that has no limits, no law and no refusal yet.
func (s *settings) limiter() (*adaptive.Limiter, error) {
	if s.shared != nil {
		return s.shared, nil
	}
	if l := s.own.Load(); l != nil || !s.limited {
		return l, nil
	}
	return s.build()
}

// build makes the node's own limiter, once.
func (s *settings) build() (*adaptive.Limiter, error) {
	s.building.Lock()
	defer s.building.Unlock()
	if l := s.own.Load(); l != nil {
		return l, nil
	}
	config := s.config
	if config.Law == nil && s.parallel > 1 {
		config.Law = lawFor(s.parallel, config.Limits.Concurrency)
	}
	l, err := adaptive.New(config)
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

// lawFor is the law of a node with workers that was not given one. It begins
// with as many calls in flight as there are workers, because that is what was
// asked for, within the concurrency, 0 for unbounded.
func lawFor(workers, concurrency int) adaptive.Law {
	law := adaptive.Measured{Initial: workers, Max: max(adaptive.Measured{}.WithDefaults().Max, workers, concurrency)}
	if concurrency > 0 {
		law.Initial = min(workers, concurrency)
	}
	return law
}
