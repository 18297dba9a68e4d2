package executor

import (
	"fmt"
	"time"
)

// State is the state of a task.
type State uint8

// The states. Completed, Failed and Cancelled are final.
const (
	Pending    State = iota // waits for room in the queue
	Queued                  // waits for a worker
	Processing              // waits for limits, or for the next attempt
	Calling                 // its call runs
	Completed               // the call succeeded
	Failed                  // the call returned an error, or a deadline passed
	Cancelled               // the caller gave up
)

const states = int(Cancelled) + 1

// String returns the name in lower case.
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

// Terminal reports whether the task has ended.
func (s State) Terminal() bool { return s >= Completed }

// MarshalText implements encoding.TextMarshaler.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *State) UnmarshalText(text []byte) error {
	for i := range states {
		if State(i).String() == string(text) {
			*s = State(i)
			return nil
		}
	}
	return fmt.Errorf("executor: %q is not a state of a task", text)
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
	state    State
	known    uint8            // a bit for each state that it has been in
	attempts int32            // calls that were begun
	times    [5]time.Duration // when it came for the first time into each state up to Calling, and when it ended
	detour   *detour          // nil: it has come into no state twice, so that times say all
}

// detour is what few lives have: the way back from a call.
type detour struct {
	last  time.Duration            // when it came into the state that it is in
	spent [Completed]time.Duration // in Processing and Calling, before that
}

// slot is where the time of a state is kept.
func (s State) slot() State { return min(s, Completed) }

// begin makes the task Pending.
func (l *life) begin(now time.Duration) { l.known, l.times[Pending] = 1<<Pending, now }

// entered reports whether the task has been in a state.
func (l *life) entered(s State) bool { return l.known&(1<<s) != 0 }

// first is when the task came into a state for the first time; 0 if it has not.
func (l *life) first(s State) time.Duration {
	if !l.entered(s) {
		return 0
	}
	return l.times[s.slot()]
}

// last is when the task came into the state that it is in.
func (l *life) last() time.Duration {
	if l.detour != nil {
		return l.detour.last
	}
	return l.times[l.state.slot()]
}

// move takes the task to another state; false, and nothing happens, if that is
// no legal step. A clock that stepped back does not make negative times.
func (l *life) move(to State, now time.Duration) bool {
	if !l.state.may(to) {
		return false
	}
	now = max(now, l.last())
	again := l.entered(to)
	if again && l.detour == nil { // from Calling back to Processing
		l.detour = &detour{last: l.times[Calling]}
		l.detour.spent[Processing] = l.times[Calling] - l.times[Processing]
	}
	if d := l.detour; d != nil {
		d.spent[l.state] += now - d.last
		d.last = now
	}
	if !again {
		l.known |= 1 << to
		l.times[to.slot()] = now
	}
	l.state = to
	return true
}

// in is how long the task was in a state by now, all its stays together.
func (l *life) in(s State, now time.Duration) (sum time.Duration) {
	if s.Terminal() || !l.entered(s) {
		return 0
	}
	if l.detour != nil {
		sum = l.detour.spent[s]
	}
	switch {
	case s == l.state:
		return sum + max(0, now-l.last())
	case l.detour != nil && s >= Processing:
		return sum
	}
	next := s + 1
	for next < Completed && !l.entered(next) {
		next++
	}
	return l.times[next] - l.times[s]
}
