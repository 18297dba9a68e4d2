package executor

import (
	"context"
	"slices"
)

// rest gives up the slot of t until the next attempt, unless the slot is lent or too many tasks are resting already.
func (x *Executor) rest(t *record) {
	x.lock()
	defer x.unlock()
	if w := t.by; w != nil && w.holds && x.slots.restful() {
		x.slots.rests(w)
		x.returnLocked()
	}
}

// rise gets t a slot again, ahead of all tasks that have not begun, but not while the executor is paused. It returns false if
// ctx ends first.
func (x *Executor) rise(ctx context.Context, t *record) bool {
	r := x.rising(t)
	if r == nil {
		return true
	}
	select {
	case <-r.ready:
		return true
	case <-ctx.Done():
	}
	x.lock()
	defer x.unlock()
	x.slots.withdraw(r)
	return false
}

// rising puts t into the line of those that want a slot again; nil if it is lent one.
func (x *Executor) rising(t *record) *returner {
	x.lock()
	defer x.unlock()
	if t.by == nil {
		return nil
	}
	r := &returner{t.by, make(chan struct{})}
	x.slots.returning = append(x.slots.returning, r)
	x.returnLocked()
	return r
}

// returnLocked gives free slots to tasks between two attempts. One that has kept
// its slot does not wait for those before it.
func (x *Executor) returnLocked() {
	s := &x.slots
	if len(s.returning) == 0 || x.paused {
		return
	}
	s.returning = slices.DeleteFunc(s.returning, func(r *returner) bool {
		switch {
		case r.w.lost || r.w.holds:
		case s.free():
			s.give(r.w) // it no longer rests
			s.take(r.w)
		default:
			return false
		}
		close(r.ready)
		return true
	})
}

// waits records whether t waits for a guard of its own. Meanwhile another task may begin.
func (x *Executor) waits(t *record, yes bool) {
	x.lock()
	defer x.unlock()
	if w := t.by; w != nil && !w.lost {
		x.slots.waits(w, yes)
	}
}

// lender returns the channel that hands out the slot of the innermost task of x around ctx, or nil if there is no such task.
func (x *Executor) lender(ctx context.Context) chan struct{} {
	s := scopeOf(ctx)
	for s != nil && s.x != x {
		s = scopeOf(s.ctx) //nolint:contextcheck // it goes outwards
	}
	if s == nil {
		return nil
	}
	in := s.made()
	if in == x.past {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.over {
		return nil
	}
	if in.turn == nil {
		in.turn = make(chan struct{}, 1)
	}
	return in.turn
}
