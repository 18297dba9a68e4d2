package executor

import (
	"fmt"
	"time"
)

// State is where a task is in its life.
type State uint8

// The states, in the order in which a task that succeeds goes through them.
const (
	// Pending: the task has been made and waits for room in the queue.
	Pending State = iota
	// Queued: it has its place in the queue.
	Queued
	// Processing: a worker has it. It waits for the limits, or to go again.
	Processing
	// Calling: its call is being made.
	Calling
	// Completed: the call returned without an error. Terminal, as the two that follow.
	Completed
	// Failed: it ended with an error, which also is that of a deadline which passed.
	Failed
	// Cancelled: somebody on this side gave it up.
	Cancelled
)

const states = int(Cancelled) + 1

// String returns the state in lower case, as in JSON.
func (s State) String() string {
	switch s {
	case Pending:
		return "pending"
	case Queued:
		return "queued"
	case Processing:
		return "processing"
	case Calling:
		return "calling"
	case Completed:
		return "completed"
	case Failed:
		return "failed"
	case Cancelled:
		return "cancelled"
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Terminal reports whether a task in this state has ended.
func (s State) Terminal() bool { return s >= Completed }

// MarshalText returns String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *State) UnmarshalText(text []byte) error {
	for i := range states {
		if State(i).String() == string(text) {
			*s = State(i)
			return nil
		}
	}
	return fmt.Errorf("executor: %q is no state of a task", text)
}

// may reports whether a task goes from s to another state in one step.
func (s State) may(to State) bool {
	switch s {
	case Pending:
		return to == Queued || to == Cancelled
	case Queued:
		return to == Processing || to == Failed || to == Cancelled
	case Processing:
		return to == Calling || to == Failed || to == Cancelled
	case Calling:
		return to == Processing || to.Terminal()
	case Completed, Failed, Cancelled:
	}
	return false
}

// life is the state machine of one task: pure, the time is an argument.
// Times are counted from when the executor was made.
type life struct {
	state   State
	entered [states]bool
	first   [states]time.Duration // when it came into the state for the first time
	spent   [Completed]time.Duration
	last    time.Duration // when it came into the state that it is in
}

// begin makes the task Pending.
func (l *life) begin(now time.Duration) {
	l.entered[Pending], l.first[Pending], l.last = true, now, now
}

// move takes the task to another state; false, and nothing happens, if that is
// no legal step. A clock that stepped back does not make negative times.
func (l *life) move(to State, now time.Duration) bool {
	if !l.state.may(to) {
		return false
	}
	now = max(now, l.last)
	l.spent[l.state] += now - l.last
	l.state, l.last = to, now
	if !l.entered[to] {
		l.entered[to], l.first[to] = true, now
	}
	return true
}

// in is how long the task was in a state by now, all its stays together.
func (l *life) in(s State, now time.Duration) time.Duration {
	switch {
	case s.Terminal():
		return 0
	case s == l.state:
		return l.spent[s] + max(0, now-l.last)
	}
	return l.spent[s]
}
