package breaker

import "fmt"

// State is what a breaker does with calls.
type State uint8

const (
	// Closed lets every call through.
	Closed State = iota
	// Open refuses every call.
	Open
	// HalfOpen lets a few calls through as probes, which decide.
	HalfOpen
)

var stateNames = [...]string{"closed", "open", "half-open"}

// String returns the state in lower case, such as "half-open".
func (s State) String() string {
	if int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return stateNames[s]
}

// Outcome is what a call that ended says about the other side.
type Outcome uint8

const (
	// Undecided says nothing: no count changes, and a probe gives its place back.
	Undecided Outcome = iota
	// Success is an answer as it should be.
	Success
	// Failure is what opens a breaker, if enough of them come in a row.
	Failure
)
