// Package panics turns panics of user code into errors.
package panics

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
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

// Log logs p with its stack, but its value only if that is an error of the Go runtime: any other may repeat a request,
// and with it a secret.
func Log(ctx context.Context, log *slog.Logger, message string, p *fault.PanicError) {
	what := fmt.Sprintf("a value of type %T, which is left out because it may contain a secret", p.Value)
	if err, ok := p.Value.(runtime.Error); ok {
		what = err.Error()
	}
	log.LogAttrs(ctx, slog.LevelError, message, slog.String("panic", what), slog.String("stack", string(p.Stack)))
}
