package throttle

import (
	"context"
	"time"
)

// await is acquire within this process.
func (l *Limiter) await(ctx context.Context, c Cost, place int64, keeps bool) (p Permit, waited time.Duration, err error) {
	if ctx.Err() != nil {
		return Permit{}, 0, context.Cause(ctx)
	}
	w, p, err := l.enter(ctx, c, place, keeps)
	if w == nil {
		return p, 0, err
	}
	return l.stand(ctx, w)
}

// enter admits c at once or returns the waiter that stands in the queue for it.
func (l *Limiter) enter(ctx context.Context, c Cost, place int64, keeps bool) (*waiter, Permit, error) {
	var n load
	n.set(&c)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.nowLocked()
	if err := l.refusalLocked(now, &n.of); err != nil {
		return nil, Permit{}, err
	}
	l.catchUpLocked(now)
	leads := l.queue.head == nil || place < l.queue.head.place
	wait := Forever
	if leads {
		h, _ := l.holdLocked(now, now, &n)
		if wait = h.wait; wait == 0 {
			return nil, l.admitLocked(now, now, &n, keeps), nil
		}
	}
	if err := l.tooLateLocked(ctx, now, &n.of); err != nil {
		return nil, Permit{}, err
	}
	if l.mostQueued > 0 && l.queue.len >= l.mostQueued && place == lastPlace {
		l.stats.Refused++
		b := l.boundForLocked(now, n.cost)
		return nil, Permit{}, &LimitedError{Limiter: l.name, RetryAfter: b.Wait, Bound: b}
	}
	return l.queueLocked(now, n, place, keeps, leads, wait), Permit{}, nil
}

// queueLocked puts n into the queue. A new head has to wait for that long.
func (l *Limiter) queueLocked(now instant, n load, place int64, keeps, leads bool, wait time.Duration) *waiter {
	w := l.queue.get()
	w.load, w.place, w.keeps, w.since = n, place, keeps, now
	l.queue.add(w)
	if leads {
		l.wakeLocked(now, wait)
	}
	return w
}

// stand waits until w is served, or ctx ends.
func (l *Limiter) stand(ctx context.Context, w *waiter) (p Permit, waited time.Duration, err error) {
	select {
	case <-w.ready:
	case <-ctx.Done():
		if l.leave(w) {
			return Permit{}, 0, context.Cause(ctx)
		}
		<-w.ready // it was served in the same moment
	}
	p, waited, err = w.permit, w.waited, w.err
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.put(w)
	return p, waited, err
}

// leave takes w out of the queue; false if it has been served.
func (l *Limiter) leave(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !w.queued {
		return false
	}
	led := l.queue.head == w
	l.queue.remove(w)
	l.queue.put(w)
	l.stats.Abandoned++
	if led {
		l.pumpLocked(l.nowLocked())
	}
	return true
}

// catchUpLocked serves those whose timer should have fired by now.
func (l *Limiter) catchUpLocked(now instant) {
	if l.queue.head != nil && l.due <= now {
		l.pumpLocked(now)
	}
}
