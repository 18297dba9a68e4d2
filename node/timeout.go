package node

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// withTimeout bounds one attempt, from its admission on. The cause says so. It
// does not name the node: a detector that goes by the text would read the name.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	cause := fmt.Errorf("node: the attempt took longer than its timeout of %s: %w", d, context.DeadlineExceeded)
	return context.WithTimeoutCause(ctx, d, cause)
}

// namedTimeout adds the owner of the deadline to an error that only says that a deadline has passed.
func namedTimeout(ctx context.Context, err error) error {
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
