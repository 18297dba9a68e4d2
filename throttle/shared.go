package throttle

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// leaseTime is how long a slot stays taken after its process died.
	leaseTime = 30 * time.Second
	// storeTimeout bounds what has no context of its own: TryAcquire, and the end of a permit.
	storeTimeout = 2 * time.Second
)

// shared is a limiter's side of a Store. A call is admitted here first, which
// costs the store nothing, and then there; refused, it is undone here and goes
// back to its place in the queue.
type shared struct {
	limiter *Limiter
	store   Store
	briefly func(func(context.Context)) // runs what has no context of its own

	// guarded by the limiter's lock
	until  instant // nobody asks before: the store said how long to wait
	why    BoundKind
	asking int
	most   int // who may ask at once: one after a refusal, and one more with each success
	renews bool
}

func newShared(l *Limiter, s Store) *shared {
	return &shared{limiter: l, store: s, most: 1, briefly: func(f func(context.Context)) {
		ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
		defer cancel()
		f(ctx)
	}}
}

// hold is what keeps a call from asking.
func (s *shared) hold(now instant) hold {
	switch {
	case s.until > now:
		return hold{wait: s.until - now, kind: BoundByStore}
	case s.asking >= s.most:
		return hold{wait: Forever, kind: BoundByStore}
	}
	return hold{}
}

// ask has the store decide about an admitted call. If it refuses, grant.Wait
// is positive and nothing else has happened yet. A panic of its code undoes
// the admission and goes on.
func (s *shared) ask(ctx context.Context, p Permit) (grant Grant, err error) {
	l := s.limiter
	l.mu.Lock()
	cost, lim := l.records[p.slot].cost, l.limitsLocked()
	l.mu.Unlock()
	returned := false
	defer func() {
		if !returned {
			_, _ = s.settle(ctx, p, Grant{}, errors.ErrUnsupported)
		}
	}()
	grant, err = s.store.Take(ctx, []Demand{{Key: l.name, Limits: lim, Cost: cost}}, leaseTime)
	returned = true
	return grant, err
}

// acquire returns p when the store admits its call too.
func (s *shared) acquire(ctx context.Context, p Permit, place int64) (Permit, error) {
	for {
		grant, err := s.ask(ctx, p)
		if err != nil || grant.Wait <= 0 {
			return s.settle(ctx, p, grant, err)
		}
		w := s.retreat(p, grant, &place)
		if p, err = s.limiter.stand(ctx, w); err != nil {
			return Permit{}, err
		}
	}
}

// try is acquire for a call that does not wait.
func (s *shared) try(p Permit) (got Permit, err error) {
	s.briefly(func(ctx context.Context) {
		var grant Grant
		if grant, err = s.ask(ctx, p); err != nil || grant.Wait <= 0 {
			got, err = s.settle(ctx, p, grant, err)
			return
		}
		s.retreat(p, grant, nil)
		err = &LimitedError{Limiter: s.limiter.name, RetryAfter: grant.Wait, Bound: grant.Bound}
	})
	return got, err
}

// settle ends the asking, unless the store has refused.
func (s *shared) settle(ctx context.Context, p Permit, grant Grant, err error) (Permit, error) {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	s.asking--
	now := l.nowLocked()
	if err == nil {
		s.most++
		l.records[p.slot].ticket = &grant.Ticket
		s.renewLaterLocked()
		l.pumpLocked(now)
		return p, nil
	}
	l.undoLocked(now, p)
	l.pumpLocked(now)
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) || errors.Is(err, ErrCost) {
		return Permit{}, err
	}
	return Permit{}, fmt.Errorf("throttle: limiter %q: its store: %w", l.name, err)
}

// retreat undoes an admission that the store refused and, if there is a place
// for it, puts the call back into the queue. Nobody asks again before the wait is over.
func (s *shared) retreat(p Permit, grant Grant, place *int64) (w *waiter) {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.nowLocked()
	s.asking--
	s.most = 1
	if until := now + min(grant.Wait, longestFill); until > s.until {
		s.until, s.why = until, grant.Bound.Kind
	}
	r := &l.records[p.slot]
	l.undoLocked(now, p)
	if place != nil {
		*place = min(*place, r.seq)
		var n load
		n.set(&r.cost)
		w = l.queueLocked(now, n, *place, true, false, 0)
	} else {
		l.stats.Refused++
	}
	l.pumpLocked(now)
	return w
}

// undoLocked takes an admission back.
func (l *Limiter) undoLocked(now instant, p Permit) {
	r, _ := l.freeLocked(p.slot)
	l.settleLocked(now, &r.admission, neverSent, &amounts{})
	l.stats.Admitted--
}

// end ends in the store what has ended here.
func (s *shared) end(t Ticket, how ending, actual Cost) {
	asTaken := how == asReserved || how == asUsed && len(t.Demands) == 1 && actual.amounts() == t.Demands[0].Cost.amounts()
	if asTaken && !t.Leased() {
		return // the store has it on its books as it is
	}
	var err error
	s.briefly(func(ctx context.Context) {
		switch how {
		case asReserved:
			err = s.store.End(ctx, t, nil)
		case asUsed:
			err = s.store.End(ctx, t, []Cost{actual})
		case neverSent:
			err = s.store.Cancel(ctx, t)
		}
	})
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.stats.StoreErrors++
	}
	if how != asReserved || s.why == BoundByConcurrency {
		s.until = 0 // what was given back may be enough
	}
	l.pumpLocked(l.nowLocked())
}

// renewLaterLocked has the leases renewed for as long as there are any.
func (s *shared) renewLaterLocked() {
	l := s.limiter
	if !s.renews && l.limit > 0 && l.inFlight > 0 {
		s.renews = true
		l.clock.AfterFunc(leaseTime/3, s.renew)
	}
}

func (s *shared) renew() {
	tickets := s.leases()
	var err error
	if len(tickets) > 0 {
		s.briefly(func(ctx context.Context) {
			_, err = s.store.Renew(ctx, tickets, leaseTime) // a lost one is not missed before its call ends
		})
	}
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.stats.StoreErrors++
	}
	s.renews = false
	s.renewLaterLocked()
}

func (s *shared) leases() (tickets []Ticket) {
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	for i := range s.limiter.records {
		if t := s.limiter.records[i].ticket; t != nil && t.Leased() {
			tickets = append(tickets, *t)
		}
	}
	return tickets
}
