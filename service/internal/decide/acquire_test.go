package decide_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/decide"
	"github.com/headrace/headrace/service/internal/rules"
)

var errGone = errors.New("the caller has gone")

func cancelAfter(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	timer := time.AfterFunc(d, func() { cancel(errGone) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// inMemory returns a decider over a store in memory, with the real clock.
func inMemory(t *testing.T) *decide.Decider {
	t.Helper()
	return realTime(t, quota.NewMemoryStore(nil))
}

// realTime returns a decider with the real clock, for a bubble of synctest.
func realTime(t *testing.T, s quota.Store) *decide.Decider {
	t.Helper()
	c, err := rules.Parse([]byte(limits + shared))
	require.NoError(t, err)
	d, err := decide.New(decide.Options{Store: s, Config: c})
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}

// Callers are served in their order, each at the instant when its tokens are there; a
// cheap one does not overtake.
func TestAcquireIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := inMemory(t)
		began := time.Now()
		var (
			mu    sync.Mutex
			order []int
			at    []time.Duration
			wg    sync.WaitGroup
		)
		_, err := d.Check(t.Context(), search(10))
		require.NoError(t, err)
		for i, tokens := range []int64{5, 1, 3, 1} {
			wg.Go(func() {
				a, err := d.Acquire(t.Context(), []decide.Check{search(tokens)}, time.Minute)
				assert.NoError(t, err)
				assert.True(t, a.Allowed)
				mu.Lock()
				defer mu.Unlock()
				order, at = append(order, i), append(at, time.Since(began))
			})
			synctest.Wait()
		}
		wg.Wait()
		assert.Equal(t, []int{0, 1, 2, 3}, order)
		assert.Equal(t, []time.Duration{5 * time.Second, 6 * time.Second, 9 * time.Second, 10 * time.Second}, at)
	})
}

func TestAcquireWaitsNoLongerThanItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := inMemory(t)
		_, err := d.Check(t.Context(), search(10))
		require.NoError(t, err)
		began := time.Now()
		a, err := d.Acquire(t.Context(), []decide.Check{search(5)}, 4*time.Second)
		require.NoError(t, err)
		assert.False(t, a.Allowed)
		assert.Equal(t, 5*time.Second, a.RetryAfter)
		assert.Zero(t, time.Since(began), "what will not be there in time is refused at once")

		var wg sync.WaitGroup
		wg.Go(func() {
			a, err := d.Acquire(t.Context(), []decide.Check{search(9)}, time.Minute)
			assert.NoError(t, err)
			assert.True(t, a.Allowed)
		})
		synctest.Wait()
		a, err = d.Acquire(t.Context(), []decide.Check{search(1)}, 4*time.Second)
		require.NoError(t, err)
		assert.False(t, a.Allowed, "it is behind another one")
		assert.Equal(t, 4*time.Second, time.Since(began))
		assert.NotZero(t, a.RetryAfter)
		assert.Empty(t, a.Permit)
		wg.Wait()
	})
}

// A caller that leaves changes nothing, and the next is served in its place.
func TestAcquireCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := inMemory(t)
		_, err := d.Check(t.Context(), search(10))
		require.NoError(t, err)
		began := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			ctx, cancel := cancelAfter(t, 2*time.Second)
			defer cancel()
			_, err := d.Acquire(ctx, []decide.Check{search(9)}, time.Minute)
			assert.ErrorIs(t, err, errGone)
		})
		synctest.Wait()
		a, err := d.Acquire(t.Context(), []decide.Check{search(3)}, time.Minute)
		require.NoError(t, err)
		assert.True(t, a.Allowed)
		assert.Equal(t, 3*time.Second, time.Since(began))
		wg.Wait()
	})
}

func TestAcquireTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := inMemory(t)
		_, err := d.CheckAll(t.Context(), []decide.Check{search(10), org(5)})
		require.NoError(t, err)
		began := time.Now()
		a, err := d.Acquire(t.Context(), []decide.Check{org(5), search(3)}, time.Minute)
		require.NoError(t, err)
		assert.True(t, a.Allowed)
		assert.Equal(t, 3*time.Second, time.Since(began))
		require.NoError(t, d.Cancel(t.Context(), a.Permit))
	})
}

// New rules hold for those that wait already.
func TestAcquireSeesNewRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := inMemory(t)
		_, err := d.Check(t.Context(), search(10))
		require.NoError(t, err)
		var wg sync.WaitGroup
		began := time.Now()
		wg.Go(func() {
			a, err := d.Acquire(t.Context(), []decide.Check{search(9)}, time.Minute)
			assert.NoError(t, err)
			assert.True(t, a.Allowed)
			assert.Equal(t, 18*time.Second, time.Since(began))
		})
		synctest.Wait()
		c, err := rules.Parse([]byte("rate_limits: [{scope: user, resource: search, capacity: 20, refill_rate: 1}]\ncosts: {search: 2}"))
		require.NoError(t, err)
		d.SetRules(c.Rules)
		wg.Wait()
	})
}

func TestAcquireValidates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := inMemory(t)
		_, err := d.Acquire(t.Context(), []decide.Check{search(1)}, time.Hour)
		require.ErrorContains(t, err, "max_wait: 1h0m0s is not between 0 and 1m0s")
		_, err = d.Acquire(t.Context(), nil, 0)
		require.ErrorContains(t, err, "checks: 0 checks")
		dry := search(1)
		dry.DryRun = true
		_, err = d.Acquire(t.Context(), []decide.Check{dry}, 0)
		require.ErrorContains(t, err, "dry_run")
		a, err := d.Acquire(t.Context(), []decide.Check{search(1)}, 0)
		require.NoError(t, err)
		assert.True(t, a.Allowed)
	})
}

// Close ends those that wait.
func TestCloseEndsAcquires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := inMemory(t)
		_, err := d.Check(t.Context(), search(10))
		require.NoError(t, err)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := d.Acquire(t.Context(), []decide.Check{search(10)}, time.Minute)
				_ = unavailable(t, err)
			})
		}
		synctest.Wait()
		d.Close()
		wg.Wait()
	})
}
