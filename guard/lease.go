package guard

import (
	"context"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/quota"
)

const (
	// leaseTime is how long a slot stays taken after its process died.
	leaseTime = 30 * time.Second
	// renewal is how often the leases of a guard are renewed.
	renewal = leaseTime / 3
)

// leases renews what calls in flight hold, by one timer that runs only while
// there is a lease.
type leases struct {
	share *share
	clock clock.Clock

	mu    sync.Mutex // guards what follows
	held  map[*ticket]struct{}
	timer clockwork.Timer // nil: it does not run
}

func (l *leases) add(t *ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[*ticket]struct{}{}
	}
	l.held[t] = struct{}{}
	l.startLocked()
}

func (l *leases) remove(t *ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, t)
	if len(l.held) == 0 && l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

func (l *leases) startLocked() {
	if l.timer == nil && len(l.held) > 0 {
		l.timer = l.clock.AfterFunc(renewal, l.renew)
	}
}

// renew renews every lease. One that was lost is counted when its call ends.
func (l *leases) renew() {
	l.mu.Lock()
	l.timer = nil
	tickets := make([]quota.Ticket, 0, len(l.held))
	for t := range l.held {
		tickets = append(tickets, t.taken)
	}
	l.mu.Unlock()
	if len(tickets) == 0 {
		return
	}
	defer func() { // also if the store ends the goroutine
		l.mu.Lock()
		defer l.mu.Unlock()
		l.startLocked()
	}()
	l.share.briefly(func(ctx context.Context, s quota.Store) error {
		_, err := s.Renew(ctx, tickets, leaseTime)
		return err
	})
}
