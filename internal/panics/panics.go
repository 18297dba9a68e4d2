// Package panics turns panics of user code into errors.
package panics

import (
	"runtime/debug"

	"github.com/headrace/headrace/fault"
)

// Catch recovers a panic and stores it in err as a *fault.PanicError. Without a
// panic, or if the goroutine ends with runtime.Goexit, it leaves err unchanged.
// It must be deferred directly.
func Catch(err *error) {
	if v := recover(); v != nil {
		*err = Error(v)
	}
}

// Error returns the error for v, a value that recover has returned. A value that
// already is a *fault.PanicError is returned unchanged, because its stack is that
// of the original panic. It must be called by the deferred function that recovered v.
func Error(v any) *fault.PanicError {
	if p, ok := v.(*fault.PanicError); ok {
		return p
	}
	return &fault.PanicError{Value: v, Stack: debug.Stack()}
}
