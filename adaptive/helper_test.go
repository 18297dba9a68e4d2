package adaptive_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

func limiter(t *testing.T, c adaptive.Config, opts ...adaptive.Option) *adaptive.Limiter {
	t.Helper()
	l, err := adaptive.New(c, opts...)
	require.NoError(t, err)
	return l
}

// capped is a configuration with a bound of n that starts with all of it.
func capped(n int) adaptive.Config {
	return adaptive.Config{Name: "api", Law: adaptive.AIMD{Initial: n, Max: n}}
}

func do(ctx context.Context, l *adaptive.Limiter, fn func(context.Context) error) error {
	return l.Do(ctx, throttle.Cost{}, fn)
}

// ok is a call that takes d.
func ok(d time.Duration) func(context.Context) error {
	return func(context.Context) error {
		time.Sleep(d)
		return nil
	}
}

// refusedOnce is a call that is refused with f's retry time once and then answered.
func refusedOnce(after time.Duration) (fn func(context.Context) error, calls *atomic.Int64) {
	calls = new(atomic.Int64)
	return func(context.Context) error {
		if calls.Add(1) == 1 {
			return &adaptive.RateLimitHit{RetryAfter: after}
		}
		return nil
	}, calls
}

// givenUp returns the error of a call that a limiter did not let go again.
func givenUp(t *testing.T) error {
	t.Helper()
	err := do(t.Context(), limiter(t, adaptive.Config{Name: "other"}), func(context.Context) error {
		return &adaptive.RateLimitHit{RetryAfter: time.Hour}
	})
	require.Error(t, err)
	return err
}

// gauge counts how many calls run at the same time.
type gauge struct{ now, most, total atomic.Int64 }

func (g *gauge) run(d time.Duration) {
	defer g.enter()()
	time.Sleep(d)
}

func (g *gauge) enter() (leave func()) {
	n := g.now.Add(1)
	for most := g.most.Load(); n > most && !g.most.CompareAndSwap(most, n); most = g.most.Load() {
	}
	g.total.Add(1)
	return func() { g.now.Add(-1) }
}
