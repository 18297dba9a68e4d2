package redisstore

import (
	"errors"
	"sync"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/tally"
	"github.com/headrace/headrace/quota"
)

const (
	// mostLost is how many takes without an answer are remembered. The slots of others are free when their leases lapse.
	mostLost = 1024
	// reclaimEvery is the time between two attempts to free slots.
	reclaimEvery = time.Second
)

// reclaims frees the slots of takes that were not answered in time. A server that was stopped carries them out when it
// continues, and without this their slots would be held by no call until the leases lapse. The zero value is ready for use.
type reclaims struct {
	mu      sync.Mutex // guards everything below
	lost    []lostTake
	looking int // how many are being looked at, and not in lost
	working bool
}

// lostTake is a take of n calls with slots that was not answered in time.
type lostTake struct {
	demands []quota.Demand
	id      string
	n       int
	lapses  time.Time
	next    int  // the slots of this call are freed next
	unsure  bool // they may be free: an attempt to free them has failed
	found   bool // it had slots: it was carried out
	looked  bool // it had no slots: it was not carried out, or not yet
}

// add has the slots of l freed as soon as Redis responds.
func (r *reclaims) add(s *Store, l lostTake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lost)+r.looking >= mostLost {
		return
	}
	r.lost = append(r.lost, l)
	if !r.working {
		r.working = true
		s.background(func() { r.work(s) })
	}
}

// work frees slots until there are none left to free.
func (r *reclaims) work(s *Store) {
	timer := time.NewTimer(reclaimEvery)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			timer.Reset(reclaimEvery)
		case <-s.life.Done():
			return
		}
		list := r.next()
		if list == nil {
			return
		}
		r.retry(s.freeAll(list))
	}
}

// next returns the takes that are left, without those with a lease that has lapsed; nil ends the work.
func (r *reclaims) next() (list []lostTake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, l := range r.lost {
		if now.Before(l.lapses) {
			list = append(list, l)
		}
	}
	r.lost, r.looking, r.working = nil, len(list), list != nil
	return list
}

// retry puts takes back.
func (r *reclaims) retry(list []lostTake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost, r.looking = append(list, r.lost...), 0
}

// freeAll frees the slots of takes until Redis does not respond, and returns the takes to try again.
func (s *Store) freeAll(list []lostTake) (again []lostTake) {
	for i := range list {
		l := &list[i]
		if err := s.free(l); err != nil {
			return append(again, list[i:]...)
		}
		if !l.found && !l.looked { // Redis may yet carry it out: it came over another connection
			l.looked, l.next = true, 0
			again = append(again, *l)
		}
	}
	return again
}

// free frees the slots of a take, if it was carried out. What it took from windows counts as used. After an error it
// continues with the same call.
func (s *Store) free(l *lostTake) error {
	for ; l.next < l.n; l.next++ {
		t := quota.Ticket{ID: ticketID(l.id, l.next), Demands: l.demands}
		err := s.finishOne(s.life, t, 1, func(i int) amounts { return tally.Amounts(t.Demands[i].Cost) })
		switch {
		case err == nil:
			l.found = true
		case errors.Is(err, quota.ErrLeaseLost) && l.unsure: // its slots may have been freed, and the reply lost
		case errors.Is(err, quota.ErrLeaseLost): // the first calls of a take are those that fit
			return nil
		case errors.As(err, new(*fault.FieldError)): // a damaged key
			l.found = true
			return nil
		default:
			l.unsure = true
			return err
		}
		l.unsure = false
	}
	return nil
}
