package executor

import "time"

// Stats is a snapshot of an executor. Guard().Stats() has its limits.
type Stats struct {
	Tasks       map[State]int64 `json:"tasks"`       // by state; for final states, since New
	Slots       int             `json:"slots"`       // in use
	Concurrency int             `json:"concurrency"` // slots in all
	Oldest      time.Duration   `json:"oldest_ns"`   // time that the head of the queue has been in it
	Abandoned   int             `json:"abandoned"`   // goroutines of hung calls that still run
	Paused      bool            `json:"paused"`
	Stopped     bool            `json:"stopped"` // no more tasks are accepted
}

// Stats returns a snapshot. Counts of tasks that have ended may be slightly newer than
// the rest.
func (x *Executor) Stats() Stats {
	x.lock()
	defer x.unlock()
	s := Stats{
		Slots: x.slots.counted(), Concurrency: x.slots.most,
		Abandoned: x.left, Paused: x.paused, Stopped: x.phase >= draining,
	}
	s.Tasks = map[State]int64{Pending: int64(x.room.len), Queued: int64(x.queue.len)}
	for t := range x.tasksLocked() {
		if state := t.state(); !state.Terminal() {
			s.Tasks[state]++
		}
	}
	for _, state := range [...]State{Completed, Failed, Cancelled} {
		s.Tasks[state] = x.ended[state].Load()
	}
	if head := x.queue.head(); head != nil {
		s.Oldest = x.clock.Elapsed() - head.life.last() // it does not change in the queue
	}
	return s
}

// Subscribe delivers every later change of every task, in order per task. The buffer
// holds n changes, at most 65,536; below 1 means 64.
func (x *Executor) Subscribe(n int) *Subscription { return x.subs.add(n) }
