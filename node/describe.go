package node

import (
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/presets"
)

// LimiterConfig tells what the batch's limiter is, or will be, made of, and
// builds none: the configuration of its own with the preset that it starts from, if there is
// one, or the limiter that it shares. Without limits and law all are empty.
func (b *Batch[S, In, Out]) LimiterConfig() (own *adaptive.Config, preset presets.ID, shared *adaptive.Limiter) {
	return b.limiterConfig()
}

// LimiterConfig tells what the step's limiter is made of; see the one of Batch.
func (n *Step[S]) LimiterConfig() (own *adaptive.Config, preset presets.ID, shared *adaptive.Limiter) {
	return n.limiterConfig()
}

func (s *settings) limiterConfig() (own *adaptive.Config, preset presets.ID, shared *adaptive.Limiter) {
	if s.shared != nil || !s.limits() {
		return nil, "", s.shared
	}
	if s.known.preset {
		preset = s.known.profile.ID
	}
	c := s.ownConfig()
	return &c, preset, nil
}
