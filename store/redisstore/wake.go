package redisstore

import (
	"context"
	"sync"

	"github.com/headrace/headrace/quota"
)

// wakes announces what other processes end. There is one subscription for all watchers of a store, from the first of
// them to Close; when it breaks, the next watcher begins another.
type wakes struct {
	mu       sync.Mutex // guards everything below
	watchers map[string]map[chan struct{}]struct{}
	on       *subscription
}

// subscription is settled once it listens, or never will.
type subscription struct {
	settled chan struct{}
	once    sync.Once
	err     error
}

func (u *subscription) settle(err error) {
	u.once.Do(func() {
		u.err = err
		close(u.settled)
	})
}

// Changed implements quota.Waker. Ends of tickets with a lease are announced.
func (s *Store) Changed(ctx context.Context, keys ...string) (<-chan struct{}, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	changed := make(chan struct{}, 1)
	s.wakes.add(changed, keys)
	context.AfterFunc(ctx, func() { s.wakes.remove(changed, keys) })
	u := s.listen()
	if u == nil {
		return nil, wrap(errClosed)
	}
	timed, cancel := context.WithTimeoutCause(ctx, s.timeout, errSlow)
	defer cancel()
	select {
	case <-u.settled:
		return changed, wrap(u.err)
	case <-timed.Done():
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, wrap(errSlow)
	}
}

// listen returns the present subscription, or a new one; nil after Close.
func (s *Store) listen() *subscription {
	w := &s.wakes
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.on != nil {
		return w.on
	}
	if !s.begin() {
		return nil
	}
	u := &subscription{settled: make(chan struct{})}
	w.on = u
	go func() {
		defer s.wg.Done()
		err := s.client.Subscribe(s.life, s.channel(), func() { u.settle(nil) }, w.wake)
		w.mu.Lock()
		w.on = nil
		w.mu.Unlock()
		u.settle(err)
	}()
	return u
}

func (w *wakes) add(changed chan struct{}, keys []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watchers == nil {
		w.watchers = map[string]map[chan struct{}]struct{}{}
	}
	for _, key := range keys {
		if w.watchers[key] == nil {
			w.watchers[key] = map[chan struct{}]struct{}{}
		}
		w.watchers[key][changed] = struct{}{}
	}
}

func (w *wakes) remove(changed chan struct{}, keys []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		delete(w.watchers[key], changed)
		if len(w.watchers[key]) == 0 {
			delete(w.watchers, key)
		}
	}
}

func (w *wakes) wake(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for changed := range w.watchers[key] {
		select {
		case changed <- struct{}{}:
		default: // it has a value already
		}
	}
}

var _ quota.Waker = (*Store)(nil)
