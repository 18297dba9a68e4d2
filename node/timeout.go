package node

import (
	"context"
	"errors"
	"fmt"
)

// withTimeout bounds one attempt, from admission on. The cause says so. It does
// not name the node: a detector that goes by the text would read the name.
func (s *settings) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	cause := fmt.Errorf("node: the attempt took longer than its timeout of %s: %w", s.timeout, context.DeadlineExceeded)
	return context.WithTimeoutCause(ctx, s.timeout, cause)
}

// namedTimeout adds to a deadline's bare error whose deadline it was.
func namedTimeout(ctx context.Context, err error) error {
	late := context.DeadlineExceeded
	if cause := context.Cause(ctx); errors.Is(err, late) && errors.Is(cause, late) && !errors.Is(err, cause) {
		return errors.Join(cause, err)
	}
	return err
}
