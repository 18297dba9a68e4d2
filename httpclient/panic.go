package httpclient

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a panic of the user's code, turned into an error: of what is in
// Config.Cache, Config.Wrap or Config.Sign, or of a call of an endpoint.
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // the stack at that moment
}

// Error gives the value; Stack is left to whoever wants it.
func (e *PanicError) Error() string { return fmt.Sprintf("httpclient: panic: %v", e.Value) }

// Redact returns a copy whose value is its text, without the secrets.
func (e *PanicError) Redact(secrets []string) error {
	return &PanicError{Value: scrubText(fmt.Sprint(e.Value), secrets), Stack: e.Stack}
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// caught makes an error of a panic on the way down. It has to be deferred itself.
func (c *call) caught(err *error) {
	if p := recover(); p != nil {
		closeBody(c.req) // whoever panicked may not have
		*err = &PanicError{Value: p, Stack: debug.Stack()}
	}
}
