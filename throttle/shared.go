package throttle

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// storeTimeout is how long a Store is given to answer.
const storeTimeout = 5 * time.Second

var errStoreSlow = errors.New("no answer within " + storeTimeout.String())

// shared is a limiter's side of a Store. A call is admitted here first, which
// costs the store nothing, and then there; refused, it is undone here and goes
// back to its place in the queue.
type shared struct {
	limiter *Limiter
	store   Store
	briefly func(func(context.Context)) // runs what has no context of its own

	// guarded by the limiter's lock
	asking int
	most   int   // who may ask at once: one after a refusal, and one more with each success
	news   int64 // counts what may turn a refusal into a success: units and slots given back, new limits
	renews bool
}

func newShared(l *Limiter, s Store) *shared {
	return &shared{limiter: l, store: s, most: 1, briefly: func(f func(context.Context)) { f(context.Background()) }}
}

// hold is what keeps w from asking.
func (s *shared) hold(now instant, w *waiter) hold {
	switch {
	case w.after > now && (w.news == s.news || w.why.Kind == BoundByPause):
		return hold{wait: w.after - now, kind: BoundByStore}
	case s.asking >= s.most:
		return hold{wait: Forever, kind: BoundByStore}
	}
	return hold{}
}

// newsLocked has those whom the Store refused ask again.
func (l *Limiter) newsLocked() {
	if l.shared != nil {
		l.shared.news++
	}
}

// acquire returns p when the store admits its call too.
func (s *shared) acquire(ctx context.Context, p Permit, place int64, waited time.Duration) (Permit, time.Duration, error) {
	for {
		r, err := s.ask(ctx, p)
		if err != nil {
			return Permit{}, waited, err
		}
		if r == nil {
			s.limiter.countWait(waited)
			return p, waited, nil
		}
		w, err := s.retreat(ctx, p, r, &place)
		if err != nil {
			return Permit{}, waited, err
		}
		var more time.Duration
		p, more, err = s.limiter.stand(ctx, w)
		if waited += more; err != nil {
			return Permit{}, waited, err
		}
	}
}

// try is acquire for a call that does not wait.
func (s *shared) try(p Permit) (got Permit, err error) {
	s.briefly(func(ctx context.Context) {
		var r *refusal
		if r, err = s.ask(ctx, p); err != nil || r == nil {
			got = p
			return
		}
		s.turnAway(p)
		err = &LimitedError{Limiter: s.limiter.name, RetryAfter: r.wait, Bound: r.bound}
	})
	if err != nil {
		return Permit{}, err
	}
	return got, nil
}

// refusal is a store's no, or one of our own that came up while it was asked.
type refusal struct {
	wait  time.Duration
	bound Bound
	news  int64 // when the store was asked
	own   bool
}

// ask has the store decide about an admitted call. With an error, or a panic
// of its code, the admission has been undone; with a refusal not yet.
func (s *shared) ask(ctx context.Context, p Permit) (no *refusal, err error) {
	l := s.limiter
	l.mu.Lock()
	cost, lim, news := l.records[p.slot].cost, l.limitsLocked(), s.news
	l.mu.Unlock()
	answered := false
	defer func() {
		if !answered {
			s.undo(p)
		}
	}()
	asking, cancel := context.WithTimeoutCause(ctx, storeTimeout, errStoreSlow)
	defer cancel()
	grant, err := s.store.Take(asking, []Demand{{Key: l.name, Limits: lim, Cost: cost}}, leaseTime)
	switch {
	case err != nil && (ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) || errors.Is(err, ErrCost)):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("throttle: limiter %q: its store: %w", l.name, err)
	case grant.Wait > 0:
		answered = true
		return &refusal{wait: grant.Wait, bound: grant.Bound, news: news}, nil
	}
	no, err = s.keep(p, &grant)
	if no != nil || err != nil { // a pause or a closing has come up meanwhile
		if s.store.Cancel(asking, grant.Ticket) != nil {
			s.failed()
		}
	}
	answered = err == nil
	return no, err
}

// keep has the permit hold what the store granted, if that is still wanted.
func (s *shared) keep(p Permit, grant *Grant) (*refusal, error) {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.nowLocked()
	if err := l.closed.reason(now); err != nil {
		return nil, err
	}
	if l.paused > now {
		wait := l.paused - now
		return &refusal{wait: wait, bound: Bound{Kind: BoundByPause, Wait: wait}, own: true}, nil
	}
	s.asking--
	s.most++
	l.records[p.slot].ticket = &grant.Ticket
	if grant.Ticket.Leased() {
		s.renewLaterLocked()
	}
	l.pumpLocked(now)
	return nil, nil
}

// retreat undoes an admission that the store refused and puts the call back
// into the queue. It asks again when the wait is over, or when there is news.
func (s *shared) retreat(ctx context.Context, p Permit, no *refusal, place *int64) (*waiter, error) {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.nowLocked()
	defer l.pumpLocked(now)
	r := s.undoLocked(now, p)
	if err := s.tooLateLocked(ctx, now, no); err != nil {
		return nil, err
	}
	*place = min(*place, r.seq)
	var n load
	n.set(&r.cost)
	w := l.queueLocked(now, n, *place, true, false, 0)
	if !no.own {
		w.after, w.why, w.news = now+min(no.wait, longestFill), no.bound, no.news
		s.most = 1
	}
	return w, nil
}

// tooLateLocked is the error of a ctx that ends before the store lets anybody
// go. Slots, and what calls elsewhere may give back, can be had at any time.
func (s *shared) tooLateLocked(ctx context.Context, now instant, no *refusal) error {
	l := s.limiter
	deadline, ok := ctx.Deadline()
	sure := no.bound.Kind == BoundByPause || no.bound.Kind == BoundByWindow && no.bound.Window.unit == Requests
	if !ok || !sure || no.own || !l.clock.Real() || l.clock.Until(deadline)-now >= no.wait {
		return nil
	}
	l.stats.Refused++
	return &DeadlineError{Limiter: l.name, Wait: no.wait, Left: l.clock.Until(deadline) - now}
}

func (s *shared) turnAway(p Permit) {
	s.undo(p)
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Refused++
}

func (s *shared) undo(p Permit) {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.nowLocked()
	s.undoLocked(now, p)
	l.pumpLocked(now)
}

// undoLocked takes an admission back.
func (s *shared) undoLocked(now instant, p Permit) *record {
	l := s.limiter
	s.asking--
	r := l.freeLocked(p.slot)
	l.settleLocked(now, &r.admission, neverSent, &amounts{})
	l.stats.Admitted = max(0, l.stats.Admitted-1) // Reset may have come in between
	return r
}

// failed counts what the store did not hear of.
func (s *shared) failed() {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.StoreErrors++
}
