package guard_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
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

// A verdict that does not exist counts as none, and the probe ends.
func TestAProbeWithAVerdictThatDoesNotExist(t *testing.T) {
	nonsense := adaptive.Feedback{Verdict: 200}
	for name, probe := range map[string]func(g *guard.Guard) error{
		"reported": func(g *guard.Guard) error {
			return do(t.Context(), g, func(ctx context.Context) error {
				guard.Report(ctx, nonsense)
				return nil
			})
		},
		"passed to End": func(g *guard.Guard) error {
			c := g.Begin(throttle.Cost{})
			if _, err := c.Admit(t.Context()); err != nil {
				return err
			}
			_, err := c.End(nonsense)
			return err
		},
		"of a detector": func(g *guard.Guard) error { return do(t.Context(), g, failing) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := made(t, guard.Policy{
					Breaker:  &breaker.Config{Failures: 1, Open: time.Minute},
					Detector: func(error) adaptive.Feedback { return nonsense },
				})
				require.Error(t, do(t.Context(), g, func(context.Context) error { panic("x") }))
				for range 5 {
					time.Sleep(time.Hour)
					assert.NotErrorIs(t, probe(g), breaker.ErrOpen)
				}
			})
		})
	}
}
