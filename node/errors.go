package node

import (
	"errors"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/throttle"
)

// ErrSharedLimiter refuses to reset a limiter that others use too.
var ErrSharedLimiter = errors.New("node: the limiter is shared")

var (
	errGoexit    = errors.New("node: the goroutine was ended by runtime.Goexit")
	errAbandoned = errors.New("node: the attempt was left behind")
)

// final reports whether err is one that no retry policy is asked about:
// another attempt would find the same.
func final(err error) bool {
	var panicked *fault.PanicError
	var hit *adaptive.RateLimitHit
	return errors.As(err, &panicked) || errors.As(err, &hit) || errors.Is(err, errAbandoned) ||
		errors.Is(err, adaptive.ErrQuotaExhausted) || errors.Is(err, throttle.ErrCost)
}
