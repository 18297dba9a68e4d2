package guard_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// The enclosing call reserved one request and no tokens.
func TestACallInsideSettlesToItsOwnCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := capped(5)
		c.Limits.Windows = []throttle.Window{throttle.Sliding(100, time.Minute).Of(throttle.Tokens)}
		l := made(t, c)
		began := time.Now()
		require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
			return l.Do(ctx, throttle.Cost{Tokens: 100}, ok(0))
		}))
		require.NoError(t, l.Do(t.Context(), throttle.Cost{Tokens: 1}, ok(0)))
		assert.Equal(t, time.Minute, time.Since(began))
	})
}

// What an enclosing call has reserved pays for no more than that.
func TestACallInsideKeepsTheWindows(t *testing.T) {
	for _, outer := range []throttle.Cost{{}, {Tokens: 1}} {
		synctest.Test(t, func(t *testing.T) {
			l := made(t, guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{
				throttle.Sliding(100, time.Minute).Of(throttle.Tokens),
			}}})
			began := time.Now()
			var mu sync.Mutex
			var sent []time.Duration
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() {
					assert.NoError(t, l.Do(t.Context(), outer, func(ctx context.Context) error {
						return l.Do(ctx, throttle.Cost{Tokens: 100}, func(context.Context) error {
							mu.Lock()
							defer mu.Unlock()
							sent = append(sent, time.Since(began))
							return nil
						})
					}))
				})
			}
			wg.Wait()
			require.Len(t, sent, 5)
			for i := 1; i < len(sent); i++ {
				assert.GreaterOrEqual(t, sent[i]-sent[i-1], time.Minute, "100 tokens each, 100 a minute")
			}
			assert.Zero(t, l.Stats().InFlight)
		})
	}
}

func TestACostInsideThatNeverFitsIsNotSent(t *testing.T) {
	l := made(t, guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{
		throttle.Sliding(100, time.Minute).Of(throttle.Tokens),
	}}})
	err := l.Do(t.Context(), throttle.Cost{Tokens: 1}, func(ctx context.Context) error {
		return l.Do(ctx, throttle.Cost{Tokens: 101}, func(context.Context) error {
			t.Error("it was sent")
			return nil
		})
	})
	require.ErrorIs(t, err, throttle.ErrCost)
	assert.Zero(t, l.Stats().InFlight)
}

func TestACallInsideThatIsTurnedAwayTakesNothing(t *testing.T) {
	l := made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 1, Windows: []throttle.Window{
		throttle.Sliding(100, time.Minute).Of(throttle.Tokens),
	}}})
	require.NoError(t, l.Do(t.Context(), throttle.Cost{Tokens: 1}, func(ctx context.Context) error {
		for _, cost := range []int64{101, -1} {
			err := l.Do(ctx, throttle.Cost{Tokens: cost}, func(context.Context) error { return nil })
			require.ErrorIs(t, err, throttle.ErrCost)
		}
		in, stop := context.WithCancel(ctx)
		stop()
		err := l.Do(intake.With(ctx, in), throttle.Cost{Tokens: 50}, func(context.Context) error { return nil })
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 1, l.Stats().InFlight)
		return nil
	}))
}
