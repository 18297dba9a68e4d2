package node

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a panic of user code, turned into the error of the item or
// the node that it happened in.
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // the stack at that moment
}

// Error gives the value; Stack is left to whoever wants it.
func (e *PanicError) Error() string { return fmt.Sprintf("node: panic: %v", e.Value) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// caught turns a panic into the error at err. It has to be deferred itself.
func caught(err *error) {
	switch p := recover().(type) {
	case nil:
	case *PanicError: // it was caught where the stack was still there
		*err = p
	default:
		*err = &PanicError{Value: p, Stack: debug.Stack()}
	}
}
