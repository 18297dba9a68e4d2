// Package run does the requests of a file: each is called through one limiter, recorded in a
// journal, and written once.
package run

import (
	"errors"
	"fmt"
)

// Reason is why a run was stopped before its end.
type Reason string

// The reasons.
const (
	WrongKey    Reason = "wrong_key"
	Quota       Reason = "quota"
	Unreachable Reason = "unreachable"
	BadLine     Reason = "bad_line"     // with --strict
	Failures    Reason = "max_failures" // those that earlier runs have recorded count too
	Sharing     Reason = "share"        // the store of --share does not answer
	Systematic  Reason = "systematic"   // the first requests all failed in the same way
)

// StopError is why a run was stopped. What was not done then is done by the next one.
type StopError struct {
	Reason  Reason
	Problem string // what is wrong and what would be right
}

// Error returns the problem.
func (e *StopError) Error() string { return e.Problem }

// ErrInterrupted is the cause of a context that a signal has ended.
var ErrInterrupted = errors.New("interrupted")

// UsageError is something that has to be put right before anything is sent.
type UsageError struct{ Err error }

// Error is that of Err.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *UsageError) Unwrap() error { return e.Err }

// usage is err as a *UsageError, if there is one.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &UsageError{err}
}

func usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }
