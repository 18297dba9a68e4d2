package group

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/headrace/headrace/throttle"
)

// attach has the other end of l admit the calls from now on. Those in flight are reported to it.
func (s *seat) attach(l *link, number int) {
	s.inside.Update(func(now time.Time) {
		s.link, s.number = l, uint64(number) //nolint:gosec // it is an index
		s.forget()
		o := opening{Name: s.policy.Name, Spec: s.spec, Saved: s.saved, Members: int(s.members.Load()), Others: s.others, Observes: s.policy.Observer != nil}
		if s.hold != (hold{}) {
			o.Hold = s.hold.after(max(0, now.Sub(s.held)))
		}
		l.sendJSON(frame{kind: kindOpen, key: s.number}, o)
		for _, c := range s.calls {
			s.send(&frame{kind: kindCarry, id: c.id, cost: c.cost, wait: max(0, now.Sub(c.at))})
		}
		s.send(&frame{kind: kindCarried})
	})
}

// detach has all calls wait until attach.
func (s *seat) detach() {
	s.inside.Update(func(time.Time) {
		s.link = nil
		s.forget()
	})
}

// forget forgets what the last leader was asked for and has granted.
func (s *seat) forget() {
	s.asked, s.grants = 0, nil
	for id, t := range s.trials {
		t.answer <- s.limited(beat)
		delete(s.trials, id)
	}
}

// send sends f to what admits the calls.
func (s *seat) send(f *frame) {
	if s.link != nil {
		f.key = s.number
		s.link.send(f)
	}
}

// handle processes a frame from the other end of l. It is ignored if l is not the link
// in use.
func (s *seat) handle(l *link, f *frame) error {
	switch f.kind {
	case kindGrant:
		s.inside.Update(func(time.Time) { s.granted(l, f.id) })
	case kindRefuse:
		s.inside.Update(func(time.Time) { s.refused(l, f) })
	case kindClosed:
		var c closing
		if err := json.Unmarshal(f.data, &c); err != nil {
			return fmt.Errorf("%w: %w", errFrame, err)
		}
		err := c.err(s.policy.Name)
		s.inside.Update(func(now time.Time) {
			if s.link == l && s.awaits(f.id) {
				s.inside.Open(s.closed) // the last word of the leader counts, not the longest
				s.asked, s.closed = 0, err
				until := now.Add(min(max(0, c.For), longestClosed))
				if over, ok := err.(*throttle.CostError); ok { //nolint:errorlint // closing.err returns it as it is
					s.inside.Exclude(until, over)
				} else {
					s.inside.Close(until, err)
				}
			}
		})
	case kindState:
		var st state
		if err := json.Unmarshal(f.data, &st); err != nil {
			return fmt.Errorf("%w: %w", errFrame, err)
		}
		s.inside.Update(func(now time.Time) {
			if s.link != l {
				return
			}
			s.hold, s.held = st.Hold, now
			if st.Hold.Cause == nil {
				s.inside.Open(s.closed)
			}
			if s.view = st.view(now); !l.alone {
				s.saved, s.others = st.Saved, st.Others
				s.members.Store(int64(st.Members))
				s.other.Store(st.Other)
			}
		})
		s.group.learned(l)
	case kindEvent:
		var d decision
		if err := json.Unmarshal(f.data, &d); err != nil {
			return fmt.Errorf("%w: %w", errFrame, err)
		}
		if e, ok := d.event(); ok {
			s.group.tell(s, e)
		}
	default:
		return fmt.Errorf("%w: kind %d is for leaders", errFrame, f.kind)
	}
	return nil
}

// awaits reports whether the call id was asked for, and not withdrawn: the key may have
// been reopened since.
func (s *seat) awaits(id int64) bool {
	_, tried := s.trials[id]
	return tried || id == s.asked
}

// longestClosed bounds how long the leader can close a key. A call looks after it.
const longestClosed = time.Hour

func (s *seat) granted(l *link, id int64) {
	if s.link != l {
		return
	}
	switch t, tried := s.trials[id]; {
	case id == s.asked:
		s.asked = 0
		s.grants = append(s.grants, grant{id: id, cost: s.cost})
	case tried:
		delete(s.trials, id)
		s.grants = append(s.grants, grant{id: id, cost: t.cost, tried: true})
		t.answer <- nil
	default:
		s.unsent(id)
	}
}

func (s *seat) refused(l *link, f *frame) {
	if s.link != l {
		return
	}
	if f.id == s.asked {
		s.asked = 0
	}
	t, tried := s.trials[f.id]
	if !tried {
		return
	}
	delete(s.trials, f.id)
	err := s.closed
	if f.wait > 0 || err == nil {
		err = s.limited(f.wait)
	}
	t.answer <- err
}
