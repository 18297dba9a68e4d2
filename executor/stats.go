package executor

import "time"

// Stats is a snapshot of an executor. Guard().Stats() is one of its limits.
type Stats struct {
	Submitted int64           `json:"submitted"` // tasks so far
	Tasks     map[State]int64 `json:"tasks"`     // by state; of those that have ended, since New
	Queue     int             `json:"queue"`     // tasks in the queue
	Room      int             `json:"room"`      // places that are left in it
	Running   int             `json:"running"`   // tasks that a worker has
	Slots     int             `json:"slots"`     // in use, of Concurrency
	Oldest    time.Duration   `json:"oldest_ns"` // for how long the head of the queue has been in it
	Left      int             `json:"left"`      // goroutines that were left behind and have not come back
	Paused    bool            `json:"paused"`
	Stopped   bool            `json:"stopped"` // nothing is taken in any more

	Concurrency int `json:"concurrency"`
}

// Stats returns a snapshot. The counts of tasks that have ended and the others are not of
// exactly the same moment.
func (x *Executor) Stats() Stats {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := Stats{
		Submitted: x.seq, Queue: x.queue.len, Room: x.config.Queue - x.queue.len, Slots: x.slots.counted(),
		Left: x.left, Paused: x.paused, Stopped: x.phase >= draining,
		Concurrency: x.slots.most,
	}
	s.Tasks = map[State]int64{Pending: int64(x.room.len), Queued: int64(x.queue.len)}
	for t := range x.tasksLocked() {
		if t.by != nil {
			s.Running++
		}
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
