package guard

import (
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/throttle"
)

// result is the effect of a report to a law. It is filled in under the limiter's lock and sent to observers after it.
type result struct {
	ended  bool // false: the permit had ended before
	now    time.Time
	sent   throttle.Sent
	before int64          // decisions by then, if there is an observer
	after  *adaptive.View // nil without a view, or without a change

	news reopening.News // what the call has changed about the key
}

// end ends p with f, reports to the controller, and fills in r.
func (g *Guard) end(r *result, p throttle.Permit, f *adaptive.Feedback, observed bool) {
	now := g.engine.Lock()
	defer g.engine.Serve()
	if f.Verdict == adaptive.Unsent { // reported to the controller through OnUnsent
		if sent := g.engine.Retract(p); sent != nil { // Stats does not count it
			*r = result{ended: true, now: now, sent: *sent}
		}
	} else if sent := g.engine.End(p, f.Used); sent != nil {
		g.note(now.Sub(sent.At))
		g.report(r, now, sent, f, observed)
	}
}

// note adds to the average of how long calls take, in which the last five
// weigh about as much as all before. It runs under the limiter's lock.
func (g *Guard) note(d time.Duration) {
	mean := g.lasted.Load()
	if mean == 0 {
		mean = int64(d)
	}
	g.lasted.Store(mean + (int64(d)-mean)/8)
}

// learn reports to the controller a call with a permit that another call has ended.
func (g *Guard) learn(r *result, sent *throttle.Sent, f *adaptive.Feedback, observed bool) {
	g.update(func(now time.Time) { g.report(r, now, sent, f, observed) })
}

// report reports f to the controller, and fills in r. It runs under the limiter's lock.
func (g *Guard) report(r *result, now time.Time, s *throttle.Sent, f *adaptive.Feedback, observed bool) {
	r.ended, r.now, r.sent = true, now, *s
	law := g.governor
	if law == nil {
		return
	}
	starts := law.state == nil && law.starts(now, f)
	if starts || refused(f.Verdict) || f.Verdict == adaptive.Terminal {
		g.free.Store(false)
	}
	if starts {
		g.wake(now, s)
	}
	if observed {
		r.before = law.told
	}
	r.news = law.hear(now, s.Seq, f, g.patience())
	law.result(now, s, f)
	if refused(f.Verdict) && law.state == nil { // the controller has panicked: its replacement gets it
		g.wake(now, s)
		law.result(now, s, f)
	}
	if limits(f) {
		g.gate.Store(max(g.gate.Load(), law.view().GateUntil.UnixNano()))
	}
	switch {
	case law.remote != nil, law.closed.Looking(now) > 0: // the other guard or the look decides
	case f.Verdict == adaptive.Terminal:
		g.engine.Close(law.closed.Until(), g.exhausted(f.Err))
	case r.news.Silent, g.outwaits(f): // every call
		hit := newHit(g.name, f, s.At)
		hit.GivenUp = true
		g.engine.Close(law.closed.Until(), hit)
	}
	if observed {
		after := law.view()
		if law.told = after.Decisions.Count; law.told != r.before || r.news.Reopened || refused(f.Verdict) || f.Verdict == adaptive.Terminal {
			news := after // which is rare, and what the pointer is to is allocated
			r.after = &news
		}
	}
}

// wake starts the controller of a lazy guard at its first rejected call.
func (g *Guard) wake(now time.Time, s *throttle.Sent) {
	law := g.current.Load().atFirst(max(s.InFlight+1, g.loose.inFlight()))
	began, tell := g.governor.recall(now)
	if state, err := law.Start(began, seed); err == nil { // it is valid
		tell(state)
	}
}
