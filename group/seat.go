package group

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// seat is the control law of a member's guard, and its state: it asks the leader
// about the head of the queue, and passes on what became of the calls. The lock
// of the guard's limiter guards it.
type seat struct {
	group  *Group
	policy guard.Policy // as the user wrote it
	spec   spec
	inside interior
	guard  *guard.Guard

	members atomic.Int64 // that use the key, this one included, as the leader has reported last
	other   atomic.Bool  // the policy is not the one in force

	link   *link  // to what admits the calls; nil: there is none for the moment
	number uint64 // of the key there
	latest int64  // the last number of a call
	asked  int64  // the call that was asked for; 0: none
	cost   throttle.Cost
	grants []grant
	pass   int64 // the grant that Admit has just let through
	trials map[int64]trial
	calls  map[int64]sending // in flight, by the limiter's number
	saved  []byte
	others int // members that do not end with the leader, as it has reported last
	view   adaptive.View
	closed error // why the leader has closed the key last
	hold   hold  // what held back all calls when the leader has reported last
	held   time.Time
}

// grant is a call that may be sent.
type grant struct {
	id    int64
	cost  throttle.Cost
	tried bool // it is for a call that does not wait
}

// sending is a call in flight.
type sending struct {
	id   int64
	cost throttle.Cost
	at   time.Time
}

// Start implements adaptive.Law.
func (s *seat) Start(time.Time, uint64) (adaptive.State, error) { return s, nil }

// Restore implements adaptive.Restorer: the leader restores it, if nothing was
// learned by then.
func (s *seat) Restore(now time.Time, seed uint64, saved []byte) (adaptive.State, error) {
	var law adaptive.Law = adaptive.Measured{}
	if own := s.spec.law(); own != nil {
		law = own
	}
	if _, err := law.(adaptive.Restorer).Restore(now, seed, saved); err != nil { //nolint:forcetypeassert // those of the spec are
		return nil, err
	}
	s.inside.Update(func(time.Time) {
		if len(s.saved) == 0 {
			s.saved = slices.Clone(saved)
			s.send(&frame{kind: kindRestore, data: saved})
		}
	})
	return s, nil
}

// Admit implements adaptive.State.
func (s *seat) Admit(_ time.Time, c throttle.Cost, _ int) time.Duration {
	for _, g := range s.grants {
		if g.cost == c {
			s.pass = g.id
			return 0
		}
	}
	s.giveBack()
	if s.link == nil || s.asked != 0 && s.cost == c {
		return throttle.Forever
	}
	s.withdraw()
	s.asked, s.cost = s.next(), c
	s.send(&frame{kind: kindAsk, id: s.asked, cost: c})
	return throttle.Forever
}

func (s *seat) next() int64 {
	s.latest++
	return s.latest
}

func (s *seat) withdraw() {
	if s.asked != 0 {
		s.send(&frame{kind: kindWithdraw, id: s.asked})
		s.asked = 0
	}
}

// giveBack returns grants that no call here uses.
func (s *seat) giveBack() {
	s.grants = slices.DeleteFunc(s.grants, func(g grant) bool {
		if !g.tried {
			s.unsent(g.id)
		}
		return !g.tried
	})
}

func (s *seat) unsent(id int64) {
	s.send(&frame{kind: kindEnd, id: id, feedback: adaptive.Feedback{Verdict: adaptive.Unsent}})
}

// Slack implements adaptive.State: no call waits for the leader.
func (s *seat) Slack(time.Time) {
	s.withdraw()
	s.giveBack()
}

// OnSend implements adaptive.State.
func (s *seat) OnSend(now time.Time, sent throttle.Sent) {
	i := slices.IndexFunc(s.grants, func(g grant) bool { return g.id == s.pass })
	if i < 0 {
		return
	}
	g := s.grants[i]
	s.grants = slices.Delete(s.grants, i, i+1)
	s.calls[sent.Seq] = sending{g.id, g.cost, now}
}

// OnResult implements adaptive.State.
func (s *seat) OnResult(_ time.Time, sent throttle.Sent, _ int, f adaptive.Feedback) {
	c, ok := s.calls[sent.Seq]
	if !ok {
		return
	}
	delete(s.calls, sent.Seq)
	s.send(&frame{kind: kindEnd, id: c.id, feedback: f})
}

// OnMeters implements adaptive.Listener.
func (s *seat) OnMeters(_ time.Time, sent throttle.Sent, m [throttle.Units]adaptive.Meter) {
	if c, ok := s.calls[sent.Seq]; ok {
		s.send(&frame{kind: kindMeters, id: c.id, feedback: adaptive.Feedback{Meters: m}})
	}
}

// OnSignal implements adaptive.State.
func (s *seat) OnSignal(now time.Time, h *adaptive.RateLimitHit) {
	f := frame{kind: kindSignal, feedback: adaptive.Feedback{Verdict: adaptive.Hit, Kind: h.Kind, RetryAfter: max(0, h.RetryAfter), Source: h.Source}}
	f.wait = max(0, now.Sub(h.SentAt))
	s.send(&f)
}

// View implements adaptive.State.
func (s *seat) View() adaptive.View {
	v := s.view
	if s.asked == 0 {
		v.Bound = ""
	}
	return v
}

// Explain implements adaptive.Explainer.
func (s *seat) Explain(time.Time) string {
	if s.view.Bound == "" {
		return "the group"
	}
	return s.view.Bound + " of the group"
}

// Save implements adaptive.Saver: it is what the leader has saved last.
func (s *seat) Save(time.Time) ([]byte, error) { return slices.Clone(s.saved), nil }

// Standing is called by package guard.
func (s *seat) Standing() string { return s.group.Stats().String() }

// Reopen is called by package guard.
func (s *seat) Reopen() bool {
	s.inside.Update(func(time.Time) { s.send(&frame{kind: kindReopen}) })
	return s.group.ctx.Err() == nil
}

// Reset is called by package guard.
func (s *seat) Reset() {
	s.inside.Update(func(time.Time) {
		s.saved = nil
		s.send(&frame{kind: kindReset})
		s.inside.Open(s.closed) // if the leader keeps it closed, the next call finds that
	})
}
