package node

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// settings is what plain steps and batches have in common. It is frozen by
// the first run, so that reading it needs no lock.
type settings struct {
	setup     invalid.Setup
	name      string
	config    adaptive.Config // of the node's own limiter, as far as it was said; see ownConfig
	limited   bool            // the node has limits or a law of its own
	known     known
	shared    *adaptive.Limiter
	breaker   *breaker.Breaker // nil: none
	pool      Pool             // nil: whoever runs the node makes the calls
	policy    *retry.Policy
	timeout   time.Duration
	propagate bool
	parallel  int // workers; 0: a step, run by whoever calls it

	building sync.Mutex // held while own is being built
	own      atomic.Pointer[adaptive.Limiter]
}

func (s *settings) init(name string) {
	s.name = name
	s.config.Name = name
	s.setup.Init("node " + strconv.Quote(name))
	if name == "" {
		s.setup.Addf("name", "it is empty: errors, events and drawings need one")
	}
}

// setFunc is for a setting that is a function: a nil one is a mistake, since
// leaving the setting out says the same.
func (s *settings) setFunc(setting string, isNil bool, change func()) {
	s.setup.Change(setting, func() {
		if isNil {
			s.setup.Addf(setting, "the function is nil: leave the setting out")
			return
		}
		change()
	})
}

// setOwn is for a setting that the node's own limiter is built of: once that
// exists, the change would be lost on it.
func (s *settings) setOwn(setting string, change func()) {
	s.setup.Change(setting, func() {
		if s.own.Load() != nil {
			s.setup.Addf(setting, "the limiter has been built by a call of Limiter: move the setting before that")
			return
		}
		change()
	})
}

func (s *settings) setLimits(l throttle.Limits) {
	s.setOwn("WithLimits", func() { s.config.Limits, s.limited = l, true })
}

func (s *settings) setLaw(l adaptive.Law) {
	s.setOwn("WithLaw", func() {
		if invalid.Nil(l) {
			s.setup.Addf("WithLaw", "the law is nil")
			return
		}
		s.config.Law, s.limited = l, true
	})
}

func (s *settings) setLimiter(l *adaptive.Limiter) {
	s.setOwn("WithLimiter", func() {
		if l == nil {
			s.setup.Addf("WithLimiter", "the limiter is nil: register it before the node is made")
			return
		}
		s.shared = l
	})
}

func (s *settings) setBreaker(b *breaker.Breaker) {
	s.setup.Change("WithBreaker", func() {
		if b == nil {
			s.setup.Addf("WithBreaker", "the breaker is nil: leave the setting out")
			return
		}
		s.breaker = b
	})
}

func (s *settings) setRetry(p retry.Policy) {
	s.setup.Change("WithRetry", func() { s.policy = &p })
}

func (s *settings) setTimeout(setting string, d time.Duration) {
	s.setup.Change(setting, func() {
		if d <= 0 {
			s.setup.Addf(setting, "%s is not a positive duration: leave the setting out for no timeout", d)
			return
		}
		s.timeout = d
	})
}

func (s *settings) setPropagate() { s.setup.Change("Propagate", func() { s.propagate = true }) }

// checkCosts is for a node that does not say what a call costs: then every
// window that counts something else than requests would never bind.
func (s *settings) checkCosts(p *invalid.Problems) {
	for i, w := range s.ownConfig().Limits.Windows {
		setting := "WithLimits"
		if i >= len(s.config.Limits.Windows) {
			setting = "WithPreset"
		}
		if w.Unit() != throttle.Requests {
			p.Addf(setting, "the window of %s counts nothing unless WithCost says what a call costs", w)
		}
	}
}

// validate joins all problems of the settings; more adds those of the node's kind.
func (s *settings) validate(more func(p *invalid.Problems)) error {
	p := invalid.Problems{Owner: s.setup.Owner()}
	p.Add(s.setup.Err())
	p.AddPart("WithLimits", s.config.Limits.Validate())
	_, err := adaptive.New(adaptive.Config{Name: s.name, Law: s.config.Law})
	p.AddPart("WithLaw", err)
	p.AddPart("WithPreset", s.known.presetErr)
	p.AddPart("WithDialect", s.known.dialectErr)
	if s.shared != nil {
		s.checkShared(&p)
	}
	if s.pool != nil && s.shared == nil && !s.limits() && s.config.Detector != nil {
		p.Addf("WithExecutor", "it excludes WithDetector and WithDialect without limits of the node's own: the executor has its own")
	}
	if s.policy != nil {
		p.AddPart("WithRetry", s.policy.Validate())
	}
	more(&p)
	return p.Err()
}

// checkShared is for a node with a limiter that it did not make.
func (s *settings) checkShared(p *invalid.Problems) {
	if s.limited {
		p.Addf("WithLimiter", "it excludes WithLimits and WithLaw: the limiter has its own")
	}
	if s.known.preset {
		p.Addf("WithPreset", "the limiter of WithLimiter has its own: make it of the preset's Profile.Config, or of registry.Spec.Preset")
	}
	if s.known.dialect != nil {
		p.Addf("WithDialect", "the limiter of WithLimiter has its own: give dialect.Detector to adaptive.Config, or set registry.Spec.Dialect")
	}
	if s.known.detector != nil {
		p.Addf("WithDetector", "the limiter of WithLimiter has its own detector: give it to adaptive.Config")
	}
}
