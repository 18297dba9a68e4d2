package line

import (
	"fmt"
	"time"
)

// FullError is the error of a call that finds Config.MaxQueue calls waiting, or that
// was displaced by a call of a client with fewer of them. Nothing was sent.
type FullError struct {
	Line    string // the name of the guard
	Waiting int
	// RetryAfter is how long the calls that wait are expected to take, by what the
	// line has admitted lately, between a second and Config.MaxWait; longer if the
	// guard admits none before.
	RetryAfter time.Duration
}

// Later raises RetryAfter to d.
func (e *FullError) Later(d time.Duration) { e.RetryAfter = max(e.RetryAfter, d) }

// Error implements error.
func (e *FullError) Error() string {
	return fmt.Sprintf("line: the queue of %q is full with %d calls: try again in %s, or raise MaxQueue", e.Line, e.Waiting, e.RetryAfter)
}

// WaitError is the error of a request that has waited for Config.MaxWait. What was
// sent of it was rejected or has failed.
type WaitError struct {
	Line       string // the name of the guard
	Waited     time.Duration
	RetryAfter time.Duration // as of FullError
}

// Error implements error.
func (e *WaitError) Error() string {
	return fmt.Sprintf("line: not admitted by %q within %s: try again in %s, or raise MaxWait", e.Line, e.Waited, e.RetryAfter)
}

// Later raises RetryAfter to d.
func (e *WaitError) Later(d time.Duration) { e.RetryAfter = max(e.RetryAfter, d) }
