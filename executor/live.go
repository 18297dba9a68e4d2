package executor

import (
	"fmt"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/throttle"
)

// SetConcurrency changes how many calls are made at the same time, up to
// Config.Workers. Calls above a lowered bound go on; none is begun until their
// number is below it.
func (x *Executor) SetConcurrency(n int) error {
	p := invalid.Problems{Owner: "executor: " + x.name}
	if n < 1 || n > x.config.Workers {
		p.Addf("Concurrency", "%d is not between 1 and %d, which is Workers: raise that in the Config", n, x.config.Workers)
	}
	if err := p.Err(); err != nil {
		return err
	}
	before := x.resize(n)
	x.tell(event.ExecutorChanged, func(e *event.Event) { e.From, e.To = float64(before), float64(n) })
	return nil
}

func (x *Executor) resize(n int) (before int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before, x.concurrency = x.concurrency, n
	x.returnLocked()
	x.work.Broadcast()
	return before
}

// SetLimits changes the windows of the executor's limiter in place, as
// throttle.Limiter.SetLimits does: history is kept, and tasks that wait are looked at again
// at once. A Concurrency in lim is that of the limiter. The limiter of
// Config.Limiter is refused, because others use it too: change it there.
func (x *Executor) SetLimits(lim throttle.Limits) error {
	if x.config.Limiter != nil {
		p := invalid.Problems{Owner: "executor: " + x.name}
		p.Addf("Limiter", "it is shared with others: call SetLimits of Limiter().Throttle()")
		return p.Err()
	}
	if err := x.limiter.Throttle().SetLimits(lim); err != nil {
		return err
	}
	x.limited.Store(true)
	x.tell(event.ExecutorChanged, func(e *event.Event) { e.Reason = fmt.Sprint(lim) })
	return nil
}

// Pause has nothing begun any more, until Resume. What a worker already has goes on, but
// another attempt is not begun either. Submit takes tasks in as before.
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
	x.returnLocked()
	x.work.Broadcast()
	return changed
}
