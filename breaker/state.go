package breaker

import "fmt"

// State is what a breaker does with calls.
type State uint8

const (
	// Closed admits every call.
	Closed State = iota
	// Open rejects every call.
	Open
	// HalfOpen admits a few calls as probes.
	HalfOpen
)

var stateNames = [...]string{"closed", "open", "half-open"}

// String returns "closed", "open" or "half-open".
func (s State) String() string {
	if int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return stateNames[s]
}

// Outcome is what the end of a call says about the server.
type Outcome uint8

const (
	// Undecided changes no count; a probe frees its place.
	Undecided Outcome = iota
	// Success means that the server works.
	Success
	// Failure counts towards opening the breaker.
	Failure
)
