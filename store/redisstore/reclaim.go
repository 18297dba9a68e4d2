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
	working bool
}

// lostTake is a take of n calls with slots that was not answered in time.
type lostTake struct {
	demands []quota.Demand
	id      string
	n       int
	lapses  time.Time
	looked  bool // it had no slots: it was not carried out, or not yet
}

// add has the slots of l freed as soon as Redis responds.
func (r *reclaims) add(s *Store, l lostTake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lost) >= mostLost {
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
	r.lost, r.working = nil, list != nil
	return list
}

// retry puts takes back.
func (r *reclaims) retry(list []lostTake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = append(list, r.lost...)
}

// freeAll frees the slots of takes until Redis does not respond, and returns the takes to try again.
func (s *Store) freeAll(list []lostTake) (again []lostTake) {
	for i, l := range list {
		found, err := s.free(&l)
		if err != nil {
			return append(again, list[i:]...)
		}
		if !found && !l.looked { // Redis may yet carry it out: it came over another connection
			l.looked = true
			again = append(again, l)
		}
	}
	return again
}

// free frees the slots of a take, if it was carried out. What it took from windows counts as used.
func (s *Store) free(l *lostTake) (found bool, err error) {
	for i := range l.n {
		t := quota.Ticket{ID: ticketID(l.id, i), Demands: l.demands}
		err := s.finishOne(s.life, t, 1, func(i int) amounts { return tally.Amounts(t.Demands[i].Cost) })
		switch {
		case errors.Is(err, quota.ErrLeaseLost): // the first calls of a take are those that fit
			return found, nil
		case errors.As(err, new(*fault.FieldError)): // a damaged key
			return true, nil
		case err != nil:
			return found, err
		}
		found = true
	}
	return found, nil
}
