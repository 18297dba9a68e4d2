package guard

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// share decides which calls of a layer ask the store, and when. It is the
// governor of the layer's limiter, in front of the one that learns: a call that
// the store has refused waits in the limiter's queue like any other. The
// limiter's lock guards it, except for what is atomic.
type share struct {
	chain

	always context.Context //nolint:containedctx // it never ends, because calls are reported to the store even after their own context has ended
	key    string
	inner  *governor // nil: another guard learns
	asking int
	most   int // how many calls may ask at once
	held   refusal

	trying  atomic.Int32          // calls that do not wait may always ask
	news    atomic.Int64          // counts changes that may turn a denial into a grant
	refused atomic.Int64          // calls that the store refused and that did not wait
	unheard atomic.Int64          // ends, renewals and cooldowns that failed
	without atomic.Pointer[error] // why the last grant was made without the store; nil: it was asked
	leases  leases
	outbox  outbox
}

// refusal holds the time at which to ask the store again.
type refusal struct {
	until time.Time
	bound throttle.Bound
	cost  int64 // of the call, in the unit of the window; a smaller one may fit before
}

// atFirst is how many calls may ask at once before the first refusal.
const atFirst = 16

// longestHold bounds how long one refusal is believed.
const longestHold = 24 * time.Hour

func newShare(p *Policy, inner *governor, c clock.Clock) *share {
	s := &share{chain: chain{store: p.Store}, always: context.Background(), key: p.Name, inner: inner, most: atFirst}
	s.leases.share, s.leases.clock = s, c
	s.outbox.share = s
	return s
}

// hold is what keeps a call from asking.
func (s *share) hold(now time.Time, c throttle.Cost) time.Duration {
	wait := s.held.until.Sub(now)
	switch {
	case wait > 0 && (s.held.bound.Kind != throttle.BoundByWindow || c.Of(s.held.bound.Window.Unit()) >= s.held.cost):
		return wait
	case s.asking >= s.most && s.trying.Load() == 0:
		return throttle.Forever
	}
	return 0
}

// Admit implements ruler.
func (s *share) Admit(now time.Time, c throttle.Cost, inFlight int) time.Duration {
	if wait := s.hold(now, c); wait > 0 {
		s.Slack(now)
		return wait
	}
	if s.inner == nil {
		return 0
	}
	return s.inner.Admit(now, c, inFlight)
}

// Slack implements ruler.
func (s *share) Slack(now time.Time) {
	if s.inner != nil {
		s.inner.Slack(now)
	}
}

// OnSend implements ruler: a call that is admitted here asks the store.
func (s *share) OnSend(now time.Time, sent throttle.Sent) {
	if s.inner != nil {
		s.inner.OnSend(now, sent)
	}
	s.asking++ // not if a law ends the goroutine: then the call is not admitted
}

// OnUnsent implements ruler.
func (s *share) OnUnsent(now time.Time, sent throttle.Sent) {
	if s.inner != nil {
		s.inner.OnUnsent(now, sent)
	}
}

// answered records that a call no longer asks: one more may than before, unless the store has denied it.
func (s *share) answered(refused bool) {
	s.asking--
	if !refused {
		s.most++
	}
}

// refuse has the calls of this layer wait, unless there was news since the
// store was asked. One of them asks again.
func (s *share) refuse(now time.Time, no *denial) {
	s.most = 1
	if no.news == s.news.Load() {
		s.held = refusal{now.Add(min(no.bound.Wait, longestHold)), no.bound, no.cost}
	}
}

// tell makes a waiting call ask again, because something was returned or the limits have changed. That does not shorten a
// cooldown.
func (g *Guard) tell() {
	if g.share == nil {
		return
	}
	g.update(func(time.Time) {
		g.share.news.Add(1)
		if g.share.held.bound.Kind != throttle.BoundByPause {
			g.share.held = refusal{}
		}
	})
}

// holding is what holds a call of cost c back in the layer, in terms of the store.
func (g *Guard) holding(b throttle.Bound, c throttle.Cost) throttle.Bound {
	if g.share == nil || b.Kind != throttle.BoundByGovernor {
		return b
	}
	g.look(func(now time.Time) {
		if wait := g.share.hold(now, c); wait > 0 {
			b = throttle.Bound{Kind: throttle.BoundByStore, Wait: wait}
			if wait != throttle.Forever {
				b.Window = g.share.held.bound.Window
			}
		}
	})
	return b
}

// briefly calls the store where no caller waits, or can be given an error. That is counted.
func (s *share) briefly(f func(context.Context, quota.Store) error) {
	if s.within(s.always, f) != nil {
		s.unheard.Add(1)
	}
}

// tries lets a call that does not wait ask the store, however many others do,
// until it calls done.
func (g *Guard) tries() (done func()) {
	if g.chain == nil {
		return func() {}
	}
	add := func(n int32) {
		for _, l := range g.layers {
			if l.share != nil {
				l.share.trying.Add(n)
			}
		}
	}
	add(1)
	return func() { add(-1) }
}

// addTo adds what only the share knows.
func (s *share) addTo(to *Stats) {
	to.Refused += s.refused.Load()
	to.StoreErrors = s.unheard.Load()
	if err := s.without.Load(); err != nil {
		to.Degraded = *err
	}
}

// granted notes whether a grant was made by the store.
func (s *share) granted(degraded error) {
	switch {
	case degraded != nil:
		s.without.Store(&degraded)
	case s.without.Load() != nil:
		s.without.Store(nil)
	}
}

// reset forgets the counts.
func (s *share) reset() {
	s.refused.Store(0)
	s.unheard.Store(0)
}

var _ ruler = (*share)(nil)
