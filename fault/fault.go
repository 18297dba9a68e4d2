// Package fault defines the error types that every package of headrace returns.
// Match them with [errors.AsType] or [errors.As].
package fault

import (
	"fmt"
	"time"
)

// FieldError reports a setting or an argument that cannot be used. A constructor
// or Validate method joins one for each problem that it finds.
type FieldError struct {
	Owner   string // what was being configured, such as "throttle" or `node "summarise"`
	Field   string // path of the setting, such as "Windows[1].Max"
	Problem string // what is wrong with the value, and what to use instead
}

// Error returns "owner: field: problem".
func (e *FieldError) Error() string { return e.Owner + ": " + e.Field + ": " + e.Problem }

// PanicError reports a panic in user code. It is the error of the item, node,
// task or request whose code panicked; it is not retried.
type PanicError struct {
	Value any    // argument of panic
	Stack []byte // stack of the goroutine at the panic, as debug.Stack formats it
}

// Error returns the value as text, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("headrace: panic: %v", e.Value) }

// Unwrap returns Value if it is an error, or nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// HungError reports user code that kept running after its context had ended.
// Its slot has been released and its goroutine abandoned.
type HungError struct {
	After time.Duration // time the code was given to return after its context ended
	Cause error         // why the context ended
}

// Error returns how long the code was given to return, and the cause.
func (e *HungError) Error() string {
	return fmt.Sprintf("headrace: the call did not return within %s of the end of its context: %v", e.After, e.Cause)
}

// Unwrap returns Cause.
func (e *HungError) Unwrap() error { return e.Cause }
