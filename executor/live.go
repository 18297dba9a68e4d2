package executor

import (
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/invalid"
)

// SetConcurrency changes how many calls run at the same time. Calls above a
// lowered bound go on; none is begun until their number is below it.
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
	p := x.guard.Policy()
	p.Limits.Concurrency = n
	if err := x.guard.Set(p); err != nil {
		return 0, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	before, x.slots.most = x.slots.most, n
	x.rouseLocked()
	return before, nil
}

// rouseLocked has all look again whether they may go on.
func (x *Executor) rouseLocked() {
	x.returnLocked()
	x.work.Broadcast()
	x.wakeLocked()
}

// Pause stops the queue until Resume: no task is begun, and no attempt
// repeated. Tasks that a worker already has go on, and Submit takes tasks in as
// before. To pause the calls themselves, wherever they come from, pause the guard.
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
	x.mu.Lock()
	defer x.mu.Unlock()
	changed = x.paused != on
	x.paused = on
	x.rouseLocked()
	return changed
}
