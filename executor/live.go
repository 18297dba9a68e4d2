package executor

import (
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/invalid"
)

// SetConcurrency changes Config.Concurrency. Running calls above a lower bound go on.
func (x *Executor) SetConcurrency(n int) error {
	p := invalid.Problems{Owner: "executor: " + x.name}
	if n < 1 || n > maxConcurrency {
		p.Addf("Concurrency", "%d is not between 1 and %d", n, maxConcurrency)
	}
	if err := p.Err(); err != nil {
		return err
	}
	before, err := x.resize(n)
	if err != nil {
		return err
	}
	x.tell(event.ExecutorChanged, func(e *event.Event) { e.From, e.To = float64(before), float64(n) })
	return nil
}

// resize changes the slots, and the concurrency of the guard with them.
func (x *Executor) resize(n int) (before int, err error) {
	x.resizing.Lock()
	defer x.resizing.Unlock()
	if x.confined.Load() || x.guard.Policy().Limits.Concurrency != 0 {
		if err := x.bound(n); err != nil {
			return 0, err
		}
	}
	x.lock()
	defer x.unlock()
	before, x.slots.most = x.slots.most, n
	x.rouseLocked()
	return before, nil
}

// confine makes the guard bound the calls as well: a task that waits for a guard of its own has no slot when it is admitted.
// Until the calls that the guard may not count have ended, such tasks keep their slots.
func (x *Executor) confine() error {
	if x.confined.Load() {
		return nil
	}
	x.resizing.Lock()
	defer x.resizing.Unlock()
	if x.confined.Load() {
		return nil
	}
	if err := x.bound(x.most()); err != nil {
		return err
	}
	x.lock()
	defer x.unlock()
	for w := range x.workers {
		x.slots.unknown(w)
	}
	x.confined.Store(true)
	return nil
}

// bound bounds the calls of the guard.
func (x *Executor) bound(n int) error {
	p := x.guard.Policy()
	p.Limits.Concurrency = n
	return x.guard.Set(p)
}

func (x *Executor) most() int {
	x.lock()
	defer x.unlock()
	return x.slots.most
}

// rouseLocked makes every worker and resting task check again whether it may continue.
func (x *Executor) rouseLocked() {
	x.returnLocked()
	x.work.Broadcast()
}

// Pause stops the queue until Resume: no task begins, and no attempt is repeated.
// Running calls go on, and Submit works as before.
func (x *Executor) Pause() {
	if x.pause(true) {
		x.tell(event.ExecutorPaused, func(*event.Event) {})
	}
}

// Resume ends Pause.
func (x *Executor) Resume() {
	if x.pause(false) {
		x.tell(event.ExecutorResumed, func(*event.Event) {})
	}
}

func (x *Executor) pause(on bool) (changed bool) {
	x.lock()
	defer x.unlock()
	changed = x.paused != on
	x.paused = on
	x.rouseLocked()
	return changed
}
