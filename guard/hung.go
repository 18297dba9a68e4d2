package guard

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/ended"
	"github.com/headrace/headrace/internal/panics"
)

// patience is how long a function is given to return after its context has
// ended, before it is abandoned.
const patience = time.Second

// supervise runs f on a goroutine of its own, bounded by d. With a HungError f
// did not return and the attempt was abandoned.
func (c *Call) supervise(k *attempt, f func(context.Context) error, d time.Duration) (err error) {
	ctx, end := c.within(k, d)
	defer end(nil)
	returned := make(chan error, 1)
	go func() {
		exited := true
		defer func() {
			if exited { // runtime.Goexit
				returned <- errExited
			}
		}()
		err := survived(ctx, f)
		exited = false
		returned <- err
	}()
	select {
	case err = <-returned:
	case <-ctx.Done():
		woken := make(chan struct{})
		timer := c.guard.clock.AfterFunc(patience, func() { close(woken) })
		select {
		case err = <-returned:
		case <-woken:
			cause := &fault.HungError{After: patience, Cause: context.Cause(ctx)}
			var failure error
			if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				failure = cause
			}
			c.abandon(k, failure)
			timer.Stop()
			return cause
		}
		timer.Stop()
	}
	if err == errExited { //nolint:errorlint // it is not wrapped
		runtime.Goexit() // f meant the goroutine of its caller
	}
	return ended.Named(ctx, err)
}

var errExited = errors.New("guard: the function ended its goroutine")

// Timeout implements inflight.Attempt.
func (k *attempt) Timeout() time.Duration { return k.call.guard.timeout() }

func (g *Guard) timeout() time.Duration {
	return inherited(g, func(p *Policy) time.Duration { return p.Timeout })
}

// within bounds an attempt by the guard's own clock.
func (c *Call) within(k *attempt, d time.Duration) (context.Context, context.CancelCauseFunc) {
	late := &timeoutError{d}
	if c.guard.clock.Real() {
		ctx, cancel := context.WithTimeoutCause(k, d, late)
		return ctx, func(error) { cancel() }
	}
	ctx, cancel := context.WithCancelCause(k)
	timer := c.guard.clock.AfterFunc(d, func() { cancel(late) })
	return ctx, func(err error) {
		timer.Stop()
		cancel(err)
	}
}

// timeoutError is the cause of an attempt that Policy.Timeout ended. It does
// not name the guard: a detector that goes by the text would read the name.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("guard: the attempt took longer than its timeout of %s", e.after)
}

// Unwrap returns context.DeadlineExceeded.
func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// survived runs f and turns a panic into its error.
func survived(ctx context.Context, f func(context.Context) error) (err error) {
	defer panics.Catch(&err)
	return f(ctx)
}
