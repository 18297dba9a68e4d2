package executor

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/inflight"
)

const (
	// look is how often the watch looks at what is there.
	look = 250 * time.Millisecond
	// looks is for how many of them a call may go on after the end of its context.
	looks = 4
	// patience is how long that is at least.
	patience = looks * look
	// many is how many queued tasks are looked at in one go.
	many = 1 << 14
)

// watch is the one goroutine besides the workers. It ends queued tasks if their context has ended, and abandons workers if
// their call does not return. It uses real time even with an injected clock, because contexts do.
func (x *Executor) watch() {
	over := false
	defer func() {
		if !over { // an observer has ended the goroutine
			go x.watch()
		}
	}()
	x.untilOver()
	over = true
	defer x.stopped()
	x.endAll(x.hung(0), x.giveUpOn) // run by a goroutine that waits for it, inside an abandoned call
}

// untilOver watches until no worker is left that is waited for.
func (x *Executor) untilOver() {
	for {
		if x.doze() {
			select {
			case <-x.over:
				return
			case <-x.wake:
			}
			continue
		}
		timer := time.NewTimer(look)
		select {
		case <-x.over:
			timer.Stop()
			return
		case <-timer.C:
		}
		x.sweep()
		x.abandon()
	}
}

// doze reports whether there is nothing to look at.
func (x *Executor) doze() bool {
	x.lock()
	defer x.unlock()
	x.dozing = x.queue.len+x.activeLocked() == 0
	return x.dozing
}

// pokeLocked wakes the watch.
func (x *Executor) pokeLocked() {
	x.dozing = false
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// sweep ends queued tasks if their context or deadline has passed. A queue of more than 16,384 tasks is scanned in several
// passes.
func (x *Executor) sweep() {
	x.endAll(x.expired(many), x.concludeExpired)
}

func (x *Executor) concludeExpired(t *record) {
	cause := t.expired()
	x.conclude(t, givenUp(cause), cause)
}

func (x *Executor) expired(most int) (found []*record) {
	x.lock()
	defer x.unlock()
	t := x.cursor
	if t == nil {
		t = x.queue.head()
	}
	for ; t != nil && most > 0; most-- {
		next := x.queue.after(t)
		if t.expired() != nil {
			x.takeLocked(t)
			found = append(found, t)
		}
		t = next
	}
	x.cursor = t
	return found
}

// abandon gives up on tasks with a call that has not returned for a while after its context ended.
func (x *Executor) abandon() {
	x.endAll(x.hung(looks), x.giveUpOn)
}

// hung returns the tasks that have been overdue for more than that many looks,
// and leaves their workers behind.
func (x *Executor) hung(most uint8) (lost []*record) {
	x.lock()
	defer x.unlock()
	for t := range x.tasksLocked() {
		if !t.overdue(most) {
			continue
		}
		lost = append(lost, t)
		if w := t.by; w != nil && !w.lost {
			x.loseLocked(w)
		}
	}
	return lost
}

// loseLocked leaves w behind.
func (x *Executor) loseLocked(w *worker) {
	w.lost = true
	delete(x.workers, w)
	x.left++
	x.freeLocked(w)
	x.overLocked()
}

// goneLocked is for a worker that was left behind and has come back.
func (x *Executor) goneLocked() {
	x.left--
	x.overLocked()
}

// overdue reports whether a task that is worked on should have returned for more than that many looks.
func (t *record) overdue(most uint8) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.begunLocked() || t.life.state.Terminal() || t.scope().Err() == nil {
		if t.course != nil {
			t.course.late = 0
		}
		return false
	}
	c := t.courseLocked()
	if c.late < most {
		c.late++
		return false
	}
	return true
}

// giveUpOn gives back what the call of t holds, and ends the task in its place.
func (x *Executor) giveUpOn(t *record) {
	ctx := t.scope()
	attempt := t.last()
	hung := &fault.HungError{After: patience, Cause: context.Cause(ctx)}
	if !x.conclude(t, givenUp(hung.Cause), hung) || attempt == nil {
		return
	}
	a := inflight.Of(attempt)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		a.Abandon(hung)
	} else {
		a.Abandon(nil) // it was this side that did not wait
	}
}

// last is the context of the last attempt, or nil.
func (t *record) last() context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.attempt
}
