package node

import (
	"context"
	"fmt"
	"time"
)

// withTimeout bounds one attempt, from its admission on. The cause says so. It
// does not name the node: a detector that goes by the text would read the name.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	cause := fmt.Errorf("node: the attempt took longer than its timeout of %s: %w", d, context.DeadlineExceeded)
	return context.WithTimeoutCause(ctx, d, cause)
}
