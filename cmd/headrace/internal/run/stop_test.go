package run

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
)

// What would stop the run is not the failure of a request either if the run is being stopped already.
func TestASecondReasonToStopFailsNoRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &answers{held: make(chan struct{})}
		c := stocked(t, to, 1000)
		c.MaxAttempts, c.Spec.Limits.Concurrency = 1, 2
		ctx, stop := context.WithCancelCause(t.Context())
		c.stop = stop
		var lines strings.Builder
		for i := range 9 {
			fmt.Fprintf(&lines, `{"custom_id":"r%d","url":"/","body":{"a":"held","b":"unauthorized"}}`+"\n", i)
		}
		j := &Job{Run: c.Run}
		var err error
		j.guard, err = guard.New(guard.Policy{Name: "api", Limits: c.Spec.Limits})
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() { done <- j.stream(ctx, j.batch(c), strings.NewReader(lines.String()), c.room, stop) }()
		synctest.Wait()
		require.Equal(t, int64(2), to.calls.Load())
		stop(ErrInterrupted)
		close(to.held)
		require.Error(t, <-done)
		require.ErrorIs(t, context.Cause(ctx), ErrInterrupted)
		require.Equal(t, WrongKey, c.why.Load().Reason)
		require.Zero(t, j.outcome.Failed)
	})
}
