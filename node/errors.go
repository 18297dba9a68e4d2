package node

import (
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// ErrSharedLimiter refuses to reset a limiter that others use too.
var ErrSharedLimiter = errors.New("node: the limiter is shared")

var (
	errGoexit    = errors.New("node: the goroutine was ended by runtime.Goexit")
	errAbandoned = errors.New("node: the attempt was left behind")
)

// HungError is the error of an item whose Exec went on after its context had
// ended. Its slot was given back and its goroutine left behind.
type HungError struct {
	After time.Duration // how long Exec was given to return
	Cause error         // why the context ended
}

// Error says how long Exec was waited for.
func (e *HungError) Error() string {
	return fmt.Sprintf("node: Exec did not return within %s of the end of its context: %v", e.After, e.Cause)
}

// Unwrap returns Cause.
func (e *HungError) Unwrap() error { return e.Cause }

// final reports whether err is one that no retry policy is asked about:
// another attempt would find the same.
func final(err error) bool {
	var panicked *PanicError
	var hit *adaptive.RateLimitHit
	return errors.As(err, &panicked) || errors.As(err, &hit) || errors.Is(err, errAbandoned) ||
		errors.Is(err, adaptive.ErrQuotaExhausted) || errors.Is(err, throttle.ErrCost)
}
