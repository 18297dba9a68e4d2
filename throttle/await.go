package throttle

import (
	"context"
	"time"
)

// onlooker is called when a call has its place in the queue. No lock is held.
type onlooker = interface{ Queued() }

// await waits until w is admitted.
func (l *Limiter) await(ctx context.Context, w *waiter, o onlooker) (Permit, error) {
	if o != nil {
		l.queued(w, o)
	}
	p, waited, err := l.stand(ctx, w)
	if waited > 0 {
		l.tellWaited(p, waited, err)
	}
	return p, err
}

// queued calls o. If o ends the goroutine, w gives up its place or its permit.
func (l *Limiter) queued(w *waiter, o onlooker) {
	returned := false
	defer func() {
		if !returned && !l.leave(w, nil) {
			<-w.ready
			w.permit.Cancel()
		}
	}()
	o.Queued()
	returned = true
}

// enterLocked admits n at once or returns the waiter that stands in the queue for it. It gives up the lock.
func (l *Limiter) enterLocked(ctx context.Context, n *load, place int64, keeps bool) (w *waiter, p Permit, err error) {
	defer l.unlock()
	now := l.nowLocked()
	if err := l.refusalLocked(now, &n.of); err != nil {
		return nil, Permit{}, err
	}
	l.catchUpLocked(now)
	among := len(l.fronts) > 0 // joint calls that wait too
	leads := !among && (l.queue.head == nil || place < l.queue.head.place)
	wait := Forever
	if leads {
		h, _ := l.holdLocked(now, now, n)
		if wait = h.wait; wait == 0 {
			return nil, l.admitLocked(now, now, n, keeps), nil
		}
	}
	if err := l.tooLateLocked(ctx, now, &n.of, place, nil); err != nil {
		return nil, Permit{}, err
	}
	if err := l.fullLocked(now, n, place, nil); err != nil {
		return nil, Permit{}, err
	}
	w = l.queueLocked(now, *n, place, keeps, leads, wait)
	if among {
		l.pumpForLocked(now, w)
	}
	return w, Permit{}, nil
}

// pumpForLocked is pumpLocked for the caller of w. If a governor ends the goroutine, w gives up its place or its permit.
func (l *Limiter) pumpForLocked(now instant, w *waiter) {
	returned := false
	defer func() {
		switch {
		case returned:
		case w.queued:
			l.queue.remove(w)
		case w.permit.l != nil:
			l.freeLocked(w.permit.slot)
		}
	}()
	l.pumpLocked(now)
	returned = true
}

// fullLocked is the error of a call that finds the queue full. One that was
// admitted before has its place.
func (l *Limiter) fullLocked(now instant, n *load, place int64, own *line) error {
	if l.mostQueued == 0 || l.waitingLocked() < l.mostQueued || place != lastPlace {
		return nil
	}
	l.stats.Refused++
	h, _ := l.limitsHoldLocked(now, now, &n.of)
	return l.limitedLocked(now, &n.of, h, own)
}

// waitingLocked is how many calls wait.
func (l *Limiter) waitingLocked() int { return l.queue.len + l.joined }

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
		if cause := context.Cause(ctx); l.leave(w, cause) {
			return Permit{}, 0, cause
		}
		<-w.ready // it was served in the same moment
	}
	p, waited, err = w.permit, w.waited, w.err
	l.lock()
	defer l.unlock()
	l.queue.put(w)
	return p, waited, err
}

// leave takes w out of the queue because of cause; false if it has been served.
func (l *Limiter) leave(w *waiter, cause error) bool {
	l.lock()
	defer l.unlock()
	if !w.queued {
		return false
	}
	led := l.queue.head == w
	l.queue.remove(w)
	l.queue.put(w)
	l.stats.addEnd(cause)
	if led || len(l.fronts) > 0 {
		l.pumpLocked(l.nowLocked())
	}
	return true
}

// catchUpLocked serves waiting calls with timers that should have fired by now.
func (l *Limiter) catchUpLocked(now instant) {
	if (l.queue.head != nil || len(l.fronts) > 0) && l.due <= now {
		l.pumpLocked(now)
	}
}
