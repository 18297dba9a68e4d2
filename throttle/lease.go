package throttle

import (
	"context"
	"time"

	"github.com/headrace/headrace/internal/panics"
)

// leaseTime is how long a slot stays taken after its process died.
const leaseTime = 30 * time.Second

// end ends in the store what p holds there, before the slot here is given to
// anybody who would ask the store for it too soon. The permit that it returns
// is p's, for the end here; false if p had ended.
func (s *shared) end(p Permit, how ending, actual Cost) (Permit, bool) {
	t, p, ok := s.claim(p)
	if !ok || t == nil {
		return p, ok
	}
	asTaken := how == asReserved || how == asUsed && len(t.Demands) == 1 && actual.amounts() == t.Demands[0].Cost.amounts()
	if asTaken && !t.Leased() {
		return p, true // the store has it on its books as it is
	}
	s.safely(func(ctx context.Context) error {
		switch how {
		case asUsed:
			return s.store.End(ctx, *t, []Cost{actual})
		case neverSent:
			return s.store.Cancel(ctx, *t)
		case asReserved:
		}
		return s.store.End(ctx, *t, nil)
	})
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	s.news++
	return p, true
}

// claim has p ended for everybody else.
func (s *shared) claim(p Permit) (*Ticket, Permit, bool) {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.records[p.slot]
	if r.gen != p.gen {
		return nil, p, false
	}
	t := r.ticket
	r.gen++
	r.ticket = nil
	p.gen = r.gen
	return t, p, true
}

// safely calls the store for one who cannot be told of an error; a panic of
// its code is one.
func (s *shared) safely(f func(context.Context) error) {
	s.briefly(func(ctx context.Context) {
		ctx, cancel := context.WithTimeoutCause(ctx, storeTimeout, errStoreSlow)
		defer cancel()
		err := func() (err error) {
			defer panics.Catch(&err)
			return f(ctx)
		}()
		if err != nil {
			s.failed()
		}
	})
}

// renewLaterLocked has the leases renewed for as long as there are any.
func (s *shared) renewLaterLocked() {
	if !s.renews {
		s.renews = true
		s.limiter.clock.AfterFunc(leaseTime/3, s.renew)
	}
}

func (s *shared) renew() {
	tickets := s.leases()
	if len(tickets) == 0 {
		return
	}
	s.safely(func(ctx context.Context) error {
		_, err := s.store.Renew(ctx, tickets, leaseTime) // a lost one is not missed before its call ends
		return err
	})
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	s.renews = false
	s.renewLaterLocked()
}

// leases are the tickets to renew; when there are none, renewing ends.
func (s *shared) leases() (tickets []Ticket) {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.records {
		if t := l.records[i].ticket; t != nil && t.Leased() {
			tickets = append(tickets, *t)
		}
	}
	s.renews = len(tickets) > 0
	return tickets
}
