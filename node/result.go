package node

import "fmt"

// State is how far an item has come.
type State uint8

const (
	// Pending has no result: the run stopped first, the provider did not accept the item within
	// MaxWait, or the store of the limits failed. Calling it again is safe.
	Pending State = iota
	// Done has its Out.
	Done
	// Failed has its Err.
	Failed
	// Resumed was done by an earlier run, and has the Out of that run.
	Resumed
)

var stateNames = [...]string{"pending", "done", "failed", "resumed"}

// String returns the state in lower case.
func (s State) String() string {
	if int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return stateNames[s]
}

// Result is the outcome of one item.
type Result[In, Out any] struct {
	Index    int64  // its position in the input, from 0
	Key      string // its content key, if the batch has one
	In       In
	Out      Out // its value if it is Done or Resumed
	Attempts int // how often it was tried; a refusal that was waited out does not count
	State    State
	Err      error // why it failed or is pending
}
