// Package fault defines the error types that every package of headrace returns.
// Match them with [errors.AsType] or [errors.As].
package fault

import (
	"fmt"
	"time"
)

// FieldError reports an invalid setting or argument. Constructors and Validate methods
// join one for each problem.
type FieldError struct {
	Owner   string // what is configured, such as "throttle" or `node "summarise"`
	Field   string // path of the setting, such as "Windows[1].Max"
	Problem string // what is wrong, and what to use instead
}

// Error returns "owner: field: problem".
func (e *FieldError) Error() string { return e.Owner + ": " + e.Field + ": " + e.Problem }

// PanicError reports a panic in the code of an item, node, task or request. It is not
// retried.
type PanicError struct {
	Value any    // argument of panic
	Stack []byte // as of debug.Stack
}

// Error returns the value without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("headrace: panic: %v", e.Value) }

// Unwrap returns Value if it is an error, or nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// HungError reports code that kept running after its context had ended. Its slot was
// released and its goroutine abandoned.
type HungError struct {
	After time.Duration // time allowed after the end of the context
	Cause error         // why the context ended
}

// Error implements error.
func (e *HungError) Error() string {
	return fmt.Sprintf("headrace: the call did not return within %s of the end of its context: %v", e.After, e.Cause)
}

// Unwrap returns Cause.
func (e *HungError) Unwrap() error { return e.Cause }
