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
	"github.com/headrace/headrace/retry"
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

// While another call probes the breaker, a call with retries waits for its outcome, and that uses up no attempt.
func TestCallsWaitForTheProbeOfAnother(t *testing.T) {
	for name, c := range map[string]struct {
		policy guard.Policy
		probe  time.Duration
		fails  bool // the probe
		cancel time.Duration
		want   time.Duration
		err    error
	}{
		"it succeeds":   {policy: guard.Policy{Retry: exactly(2)}, probe: time.Minute, want: time.Minute + time.Second},
		"it fails":      {policy: guard.Policy{Retry: exactly(3)}, probe: time.Minute, fails: true, want: time.Minute + 21*time.Second},
		"no retries":    {policy: guard.Policy{}, probe: time.Minute, err: breaker.ErrOpen},
		"one attempt":   {policy: guard.Policy{Retry: exactly(1)}, probe: time.Minute, err: breaker.ErrOpen},
		"not retryable": {policy: guard.Policy{Retry: &retry.Policy{Retryable: func(error) bool { return false }}}, probe: time.Minute, err: breaker.ErrOpen},
		"it hangs": {
			policy: guard.Policy{Retry: exactly(2)}, probe: time.Hour, want: 15*time.Minute + 2*time.Second, err: breaker.ErrOpen,
		},
		"longer than MaxWait": {
			policy: guard.Policy{Retry: exactly(2), MaxWait: 10 * time.Second}, probe: time.Hour, want: 10 * time.Second, err: breaker.ErrOpen,
		},
		"cancelled": {policy: guard.Policy{Retry: exactly(2)}, probe: time.Hour, cancel: time.Second, want: time.Second, err: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.policy.Breaker = &breaker.Config{Failures: 1, Successes: 1}
				g := made(t, c.policy)
				require.Error(t, g.Try(t.Context(), throttle.Cost{}, failing))
				time.Sleep(10 * time.Second)
				go func() {
					_ = g.Try(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
						time.Sleep(c.probe)
						if c.fails {
							return failing(ctx)
						}
						return nil
					})
				}()
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				began := time.Now()
				assert.ErrorIs(t, do(ctx, g, ok(0)), c.err)
				assert.Equal(t, c.want, time.Since(began))
				time.Sleep(2 * time.Hour)
				assert.Zero(t, g.Stats().InFlight)
			})
		})
	}
}

func exactly(attempts int) *retry.Policy {
	return &retry.Policy{MaxAttempts: attempts, Initial: time.Second, Multiplier: 1, NoJitter: true}
}

// An Attempt does not wait for a probe: it may not take that long.
func TestAnAttemptDoesNotWaitForAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{Retry: exactly(3), Breaker: &breaker.Config{Failures: 1, Successes: 1}})
		require.Error(t, g.Try(t.Context(), throttle.Cost{}, failing))
		time.Sleep(10 * time.Second)
		go func() {
			_ = g.Try(t.Context(), throttle.Cost{}, func(context.Context) error { time.Sleep(time.Hour); return nil })
		}()
		synctest.Wait()
		began := time.Now()
		next, again, err := g.Attempt(t.Context(), throttle.Cost{}, guard.Progress{}, ok(0))
		require.ErrorIs(t, err, breaker.ErrOpen)
		assert.True(t, again)
		assert.Equal(t, 2*time.Second, next.Delay)
		assert.Zero(t, time.Since(began))
		time.Sleep(time.Hour)
	})
}
