package guard_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/guard"
)

// The calls inside one that probes a half-open breaker are parts of that probe.
func TestAProbeMayMakeSeveralCallsInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Breaker: &breaker.Config{Failures: 1, Probes: 1, Successes: 1, Open: time.Minute}})
		require.Error(t, do(t.Context(), l, func(context.Context) error { return context.DeadlineExceeded }))
		require.ErrorAs(t, do(t.Context(), l, ok(0)), new(*breaker.OpenError))
		time.Sleep(time.Minute)
		require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
			for range 3 {
				if err := do(ctx, l, ok(time.Second)); err != nil {
					return err
				}
			}
			return nil
		}))
		require.NoError(t, do(t.Context(), l, ok(0)), "it is closed")
		assert.Zero(t, l.Stats().InFlight)
	})
}
