package node

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// settings is what steps and batches have in common. The first run freezes it,
// so that reading it needs no lock.
type settings struct {
	setup  invalid.Setup
	name   string
	policy guard.Policy // of the node's calls; every setting of calls is a field of it
	fields []string     // settings that have set single fields of policy
	pool   Pool         // nil: the node runs its calls itself

	shown   any             // the handler of a batch, for package flow; nil in a step
	journal journal.Journal // of a batch; may be nil

	building sync.Mutex                  // held while own is made
	own      atomic.Pointer[guard.Guard] // nil: not needed yet
}

func (s *settings) init(name string) {
	s.name = name
	s.policy.Name = name
	s.setup.Init("node " + strconv.Quote(name))
	if name == "" {
		s.setup.Addf("name", "it is empty: errors, events and drawings need one")
	}
}

// setFunc sets a function. A nil one is a mistake, because leaving the setting
// out means the same.
func (s *settings) setFunc(setting string, isNil bool, change func()) {
	s.setup.Change(setting, func() {
		if isNil {
			s.setup.Addf(setting, "the function is nil: leave the setting out")
			return
		}
		change()
	})
}

// setPolicy changes the policy, unless the guard has been made from it already.
func (s *settings) setPolicy(setting string, change func(p *guard.Policy)) {
	s.setup.Change(setting, func() {
		if s.own.Load() != nil {
			s.setup.Addf(setting, "Guard has already created the guard: move the setting before that call")
			return
		}
		change(&s.policy)
	})
}

// setField changes one field of the policy.
func (s *settings) setField(setting string, change func(p *guard.Policy)) {
	s.setPolicy(setting, func(p *guard.Policy) {
		s.fields = append(s.fields, setting)
		change(p)
	})
}

func (s *settings) with(p guard.Policy) {
	s.setPolicy("With", func(to *guard.Policy) {
		if len(s.fields) > 0 {
			s.setup.Addf("With", "it replaces what %s set before it: move With to the front", strings.Join(s.fields, ", "))
		}
		*to = p
		to.Name = cmp.Or(p.Name, s.name)
		to.Within = slices.Clone(p.Within)
	})
}

func (s *settings) within(guards []*guard.Guard) {
	s.setField("Within", func(p *guard.Policy) {
		if slices.Contains(guards, nil) {
			s.setup.Addf("Within", "a guard is nil: register it before the node is made")
			return
		}
		p.Within = append(p.Within, guards...)
	})
}

func (s *settings) withLimits(l throttle.Limits) {
	s.setField("WithLimits", func(p *guard.Policy) { p.Limits = l })
}

func (s *settings) withPreset(id presets.ID) {
	s.setField("WithPreset", func(p *guard.Policy) {
		if id == "" {
			s.setup.Addf("WithPreset", "the name is empty: leave the setting out")
			return
		}
		p.Preset = id
	})
}

func (s *settings) withRetry(r retry.Policy) {
	s.setField("WithRetry", func(p *guard.Policy) { p.Retry = &r })
}

func (s *settings) withTimeout(d time.Duration) {
	s.setField("WithTimeout", func(p *guard.Policy) {
		if d <= 0 {
			s.setup.Addf("WithTimeout", "%s is not a positive duration: leave the setting out for no timeout", d)
			return
		}
		p.Timeout = d
	})
}

// validate joins all problems of the settings; more adds those of the node's
// kind. costs reports whether the node declares what a call costs.
func (s *settings) validate(costs bool, more func(p *invalid.Problems)) error {
	p := invalid.Problems{Owner: s.setup.Owner()}
	p.Add(s.setup.Err())
	g, err := guard.New(s.policy) // to look at: the node's own may not be made yet
	p.AddPart("policy", err)
	if err == nil && !costs {
		for _, w := range g.Stats().Limits.Windows {
			if w.Unit() != throttle.Requests {
				p.Addf("Limits", "the window of %s counts nothing unless WithCost declares what a call costs", w)
			}
		}
	}
	more(&p)
	return p.Err()
}

// guard returns the guard of the node's calls, which it makes on first use.
func (s *settings) guard() (*guard.Guard, error) {
	if g := s.own.Load(); g != nil {
		return g, nil
	}
	s.building.Lock()
	defer s.building.Unlock()
	if g := s.own.Load(); g != nil {
		return g, nil
	}
	g, err := guard.New(s.policy)
	if err == nil {
		s.own.Store(g)
	}
	return g, err
}

// made is guard for callers that cannot return the error, which is that of Validate.
func (s *settings) made() *guard.Guard {
	g, _ := s.guard()
	return g
}
