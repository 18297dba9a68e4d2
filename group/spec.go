package group

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/hook"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/throttle"
)

// spec is the part of a policy that the leader needs.
type spec struct {
	Limits   throttle.Limits    `json:"limits,omitzero"`
	Preset   presets.ID         `json:"preset,omitempty"`
	Share    float64            `json:"share,omitempty"`
	MaxWait  time.Duration      `json:"max_wait,omitempty"`
	Measured *adaptive.Measured `json:"measured,omitempty"`
	AIMD     *adaptive.AIMD     `json:"aimd,omitempty"`
}

// specOf reports what of p cannot be shared.
func specOf(p *guard.Policy, to *invalid.Problems) (s spec) {
	s = spec{Limits: p.Limits, Preset: p.Preset, Share: p.Share, MaxWait: p.MaxWait}
	switch law := p.Law.(type) {
	case nil:
	case adaptive.Measured:
		s.Measured = &law
	case adaptive.AIMD:
		s.AIMD = &law
	default:
		to.Addf("Law", "a %T cannot be sent to another process: use adaptive.Measured, adaptive.AIMD or nil", law)
	}
	switch {
	case p.Name == "":
		to.Addf("Name", "it is empty: it identifies the limit for the processes of the group")
	case len(p.Name) > mostName:
		to.Addf("Name", "it has %d bytes: the maximum is %d", len(p.Name), mostName)
	case !utf8.ValidString(p.Name):
		to.Addf("Name", "it is not valid UTF-8, which the protocol of groups requires: write other bytes in hexadecimal")
	}
	if p.Store != nil {
		to.Addf("Store", "the group shares the limits itself: leave one of the two out")
	}
	if p.Presets != nil {
		to.Addf("Presets", "a table cannot be sent to another process: write the numbers into Limits, or into Prior of adaptive.Measured")
	}
	if p.Clock != nil {
		to.Addf("Clock", "the processes of a group share the real clock: leave it out")
	}
	return s
}

// law is that of the spec; nil waits for the first 429.
func (s *spec) law() adaptive.Law {
	switch {
	case s.Measured != nil:
		return *s.Measured
	case s.AIMD != nil:
		return *s.AIMD
	}
	return nil
}

// policy is that of the guard that decides, for a part of the limit: 1 is all of it.
func (s *spec) policy(name string, share float64) guard.Policy {
	p := guard.Policy{Name: name, Limits: s.Limits, Preset: s.Preset, Share: s.Share, MaxWait: s.MaxWait, Law: s.law()}
	if share == 1 {
		return p
	}
	p.Limits = scaled(p.Limits, share)
	if p.Preset != "" || p.Share != 0 {
		if p.Share == 0 {
			p.Share = 1
		}
		p.Share *= share
	}
	if s.Measured != nil {
		m := *s.Measured
		m.Prior = scaled(m.Prior, share)
		p.Law = m
	}
	return p
}

// scaled is a part of l, at least one unit of each.
func scaled(l throttle.Limits, share float64) throttle.Limits {
	if l.Concurrency > 0 {
		l.Concurrency = max(1, int(float64(l.Concurrency)*share))
	}
	windows := make([]throttle.Window, len(l.Windows))
	for i, w := range l.Windows {
		windows[i] = w.Scaled(share)
	}
	l.Windows = windows
	return l
}

// learned is what an earlier leader has saved, for a part of the limit.
func (s *spec) learned(saved []byte, share float64) ([]byte, error) {
	if share == 1 || len(saved) == 0 {
		return saved, nil
	}
	var law adaptive.Law = adaptive.Measured{}
	if s.AIMD != nil {
		law = *s.AIMD
	}
	return hook.Open[interface {
		Share(saved []byte, share float64) ([]byte, error)
	}](law).Share(saved, share)
}

// make makes the guard that decides.
func (s *spec) make(name string, share float64, saved []byte, to event.Observer) (*guard.Guard, error) {
	p := s.policy(name, share)
	p.Observer = to
	g, err := guard.New(p)
	if err != nil {
		return nil, fmt.Errorf("group: key %q: %w", name, err)
	}
	if saved, err = s.learned(saved, share); err == nil {
		_ = g.Restore(saved) // a member may have saved it under another law: then learning starts anew
	}
	return g, nil
}

// opening is the data of kindOpen.
type opening struct {
	Name  string          `json:"name"`
	Spec  spec            `json:"spec"`
	Saved json.RawMessage `json:"saved,omitempty"`

	Members int `json:"members,omitempty"` // that used the key last
	Others  int `json:"others,omitempty"`  // of them, those that did not end with the leader

	Hold     hold `json:"hold,omitzero"`
	Observes bool `json:"observes,omitempty"` // the member has an observer
}

// hold is what holds back all calls, because of what the provider has answered.
type hold struct {
	reopening.Memory

	Cause *closing      `json:"cause,omitempty"` // what calls fail with; nil: they wait
	Age   time.Duration `json:"age,omitempty"`   // since the leader reported it
}

// after is h when d has passed.
func (h hold) after(d time.Duration) hold {
	h.Memory, h.Age = h.After(d), h.Age+d
	return h
}

// state is the data of kindState.
type state struct {
	Members     int                     `json:"members"`
	Others      int                     `json:"others"` // of them, those that do not end with the leader
	Saved       json.RawMessage         `json:"saved,omitempty"`
	Other       bool                    `json:"other,omitempty"` // the policy of the member is not the one in force
	Concurrency int                     `json:"concurrency,omitempty"`
	Pace        [throttle.Units]float64 `json:"pace"`
	Hold        hold                    `json:"hold,omitzero"`
	Bound       string                  `json:"bound,omitempty"`
	Hits        int64                   `json:"hits,omitempty"`
	Cuts        int64                   `json:"cuts,omitempty"`
	Recoveries  int64                   `json:"recoveries,omitempty"`
}

func stateOf(v *adaptive.View) state {
	return state{
		Concurrency: v.Concurrency, Pace: v.Pace, Bound: v.Bound, Hits: v.Hits, Cuts: v.Cuts, Recoveries: v.Recoveries,
	}
}

func (s *state) view(now time.Time) adaptive.View {
	v := adaptive.View{Concurrency: s.Concurrency, Pace: s.Pace, Bound: s.Bound, Hits: s.Hits, Cuts: s.Cuts, Recoveries: s.Recoveries}
	if s.Hold.Gate > 0 {
		v.GateUntil = now.Add(s.Hold.Gate)
	}
	return v
}
