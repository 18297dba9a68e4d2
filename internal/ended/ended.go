// Package ended says why a context ended.
package ended

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Cause returns the cause of the end of ctx, as an error that errors.Is finds ctx.Err() in too.
func Cause(ctx context.Context) error {
	why := context.Cause(ctx)
	if errors.Is(why, ctx.Err()) {
		return why
	}
	return errors.Join(ctx.Err(), why)
}

// Named adds the cause of the end of ctx to err, if both are a deadline and err does not have it.
func Named(ctx context.Context, err error) (named error) {
	defer func() {
		if recover() != nil { // the methods of err are user code
			named = err
		}
	}()
	late := context.DeadlineExceeded
	cause := context.Cause(ctx)
	switch {
	case !errors.Is(err, late) || !errors.Is(cause, late) || errors.Is(err, cause):
		return err
	case err == late: //nolint:errorlint // the error of the context itself, which the cause wraps
		return cause
	}
	return errors.Join(cause, err)
}

// LateError is the cause if the time is over that a setting allows.
type LateError struct {
	Setting string
	After   time.Duration
}

// Error names the setting.
func (e *LateError) Error() string { return fmt.Sprintf("%s, %v, is over", e.Setting, e.After) }

// Timeout returns true, as that of a net.Error.
func (e *LateError) Timeout() bool { return true }

// Is matches context.DeadlineExceeded.
func (e *LateError) Is(target error) bool { return target == context.DeadlineExceeded }
