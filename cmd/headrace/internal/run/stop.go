// Package run sends the requests of a file: each is called through one limiter, recorded in a
// journal, and its result is written once.
package run

import (
	"context"
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
	BadLine     Reason = "bad_line"     // a line is invalid, with --strict
	Failures    Reason = "max_failures" // failures recorded by earlier runs count too
	Sharing     Reason = "share"        // the store of --share does not respond
	Systematic  Reason = "systematic"   // the first requests all failed in the same way
)

// StopError is the reason why a run was stopped. The next run does what is left.
type StopError struct {
	Reason  Reason
	Problem string // what is wrong and how to correct it
}

// Error returns the problem.
func (e *StopError) Error() string { return e.Problem }

// badLine is the reason to stop at an invalid line.
func badLine(line int64, problem string) *StopError {
	return &StopError{BadLine, fmt.Sprintf("line %d: %s", line, problem)}
}

// left is the error of a request that the stop leaves for the next run.
func (e *StopError) left() error { return leftError{e} }

// leftError is an error of the run and not of its request, also if the run was stopped for another reason before, such as Ctrl-C:
// otherwise it would be recorded as the failure of a request that has none.
type leftError struct{ *StopError }

// Is has the request count as cancelled.
func (leftError) Is(target error) bool { return target == context.Canceled }

// Unwrap returns the reason.
func (e leftError) Unwrap() error { return e.StopError }

// ErrInterrupted is the cause of a context that was cancelled by a signal.
var ErrInterrupted = errors.New("interrupted")

// UsageError is a problem that has to be corrected before anything is sent.
type UsageError struct{ Err error }

// Error is that of Err.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *UsageError) Unwrap() error { return e.Err }

// usage finds a *UsageError in err.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &UsageError{err}
}

func usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }
