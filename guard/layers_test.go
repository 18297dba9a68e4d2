package guard_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// worst is the most instants in any second.
func worst(at []time.Duration) (most int) {
	slices.Sort(at)
	for i, j := 0, 0; j < len(at); j++ {
		for at[j]-at[i] >= time.Second {
			i++
		}
		most = max(most, j-i+1)
	}
	return most
}

// 20 hosts of 30 pages, grouped by host: 2 per second and host, 20 in all.
func TestACrawlerUsesBothLimitsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := made(t, guard.Policy{Name: "crawl", Limits: rate(throttle.Sliding(20, time.Second))})
		var hosts [20]*guard.Guard
		for i := range hosts {
			hosts[i] = made(t, guard.Policy{
				Name: fmt.Sprint("crawl/", i), Limits: rate(throttle.Bucket(2, 5)), Within: []*guard.Guard{service},
			})
		}
		begin := time.Now()
		var mu sync.Mutex
		var wg sync.WaitGroup
		var sent []time.Duration
		per := make([][]time.Duration, len(hosts))
		for host := range hosts {
			for range 30 {
				wg.Go(func() {
					assert.NoError(t, hosts[host].Do(t.Context(), throttle.Cost{}, func(context.Context) error {
						mu.Lock()
						defer mu.Unlock()
						sent, per[host] = append(sent, time.Since(begin)), append(per[host], time.Since(begin))
						return nil
					}))
				})
			}
		}
		wg.Wait()
		assert.LessOrEqual(t, time.Since(begin), 29*time.Second, "600 pages at 20 per second")
		assert.LessOrEqual(t, worst(sent), 20)
		for _, at := range per {
			assert.LessOrEqual(t, worst(at), 7)
			assert.Greater(t, at[len(at)-1], 20*time.Second, "no host is ahead of the others")
		}
	})
}

func TestABusyHostHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, user := made(t, guard.Policy{Limits: rate(throttle.Sliding(10, time.Second))}), made(t, guard.Policy{Limits: rate(throttle.Sliding(10, time.Second))})
		slow, fast := made(t, guard.Policy{Limits: rate(throttle.Sliding(1, time.Minute))}), made(t, guard.Policy{Limits: rate(throttle.Sliding(10, time.Second))})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { _ = guard.Join(user, slow, service).Do(ctx, throttle.Cost{}, nothing) })
		}
		synctest.Wait()
		begin := time.Now()
		for range 50 {
			asked := time.Now()
			require.NoError(t, guard.Join(user, fast, service).Do(t.Context(), throttle.Cost{}, nothing))
			assert.LessOrEqual(t, time.Since(asked), time.Second)
		}
		assert.LessOrEqual(t, time.Since(begin), 5*time.Second)
		cancel()
		wg.Wait()
		for _, g := range []*guard.Guard{service, user, slow, fast} {
			assert.Zero(t, g.Stats().InFlight+g.Stats().Waiting)
		}
	})
}

func TestTheNearestLearnerLearns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		account := made(t, guard.Policy{Name: "account"})
		user := made(t, guard.Policy{Name: "user", Within: []*guard.Guard{account}, Limits: rate(throttle.Sliding(100, time.Second))})
		assert.Same(t, account, user.Learner())
		calls := 0
		require.NoError(t, user.Do(t.Context(), throttle.Cost{}, func(context.Context) error {
			if calls++; calls == 1 {
				return &adaptive.RateLimitHit{RetryAfter: time.Second}
			}
			return nil
		}))
		assert.EqualValues(t, 1, account.Stats().View.Hits)
		assert.EqualValues(t, 2, account.Stats().Admitted)
		assert.EqualValues(t, 2, user.Stats().Admitted)
	})
}

// A guard that has only limits learns if no other is meant to.
func TestWhichOfSeveralGuardsLearns(t *testing.T) {
	limited := func(name string) *guard.Guard {
		return made(t, guard.Policy{Name: name, Limits: rate(throttle.Sliding(5, time.Second))})
	}
	user, host := limited("user"), made(t, guard.Policy{Name: "host", Detector: func(error) adaptive.Feedback { return hitAfter(time.Minute) }})
	service := made(t, guard.Policy{Name: "service", Law: adaptive.AIMD{}})
	for about, c := range map[string]struct{ got, want *guard.Guard }{
		"a detector":                           {guard.Join(user, host), host},
		"the first of two that have one":       {guard.Join(host, user, service), host},
		"the other order":                      {guard.Join(user, service, host), service},
		"none has one":                         {guard.Join(user, limited("other")), user},
		"the learner of a guard within others": {guard.Join(user, made(t, guard.Policy{Within: []*guard.Guard{service}})), service},
		"several that a guard is within":       {made(t, guard.Policy{Within: []*guard.Guard{user, host, service}}), host},
		"its own":                              {made(t, guard.Policy{Law: adaptive.AIMD{}, Within: []*guard.Guard{host}}), nil},
	} {
		if c.want == nil {
			c.want = c.got
		}
		assert.Same(t, c.want, c.got.Learner(), about)
	}
	require.Error(t, guard.Join(user, host).Try(t.Context(), throttle.Cost{}, func(context.Context) error { return io.EOF }))
	assert.EqualValues(t, 1, host.Stats().View.Hits)
	assert.Zero(t, user.Stats().View.Hits)
}

func TestAGuardReachedTwiceCountsOnce(t *testing.T) {
	g := made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 1}})
	inner := made(t, guard.Policy{Within: []*guard.Guard{g, g}})
	require.NoError(t, guard.Join(inner, nil, g, inner).Do(t.Context(), throttle.Cost{}, nothing))
	assert.EqualValues(t, 1, g.Stats().Admitted)
	require.NoError(t, guard.Join().Do(t.Context(), throttle.Cost{}, nothing))
}

func TestTryOnSeveralLayersTakesFromAllOrNone(t *testing.T) {
	user, api := made(t, guard.Policy{Limits: rate(throttle.Sliding(5, time.Second))}), made(t, guard.Policy{Name: "api", Limits: throttle.Limits{Concurrency: 1}})
	both := guard.Join(user, api)
	require.NoError(t, api.Do(t.Context(), throttle.Cost{}, func(context.Context) error {
		err := both.Try(t.Context(), throttle.Cost{}, nothing) //nolint:contextcheck // outside of the call
		var limited *throttle.LimitedError
		require.ErrorAs(t, err, &limited)
		assert.Equal(t, time.Second, limited.RetryAfter, "only the end of a call helps")
		return nil
	}))
	assert.Zero(t, user.Stats().Admitted)
	require.NoError(t, both.Try(t.Context(), throttle.Cost{}, nothing))
}

// GUARD.md's mixed programs: many goroutines over chains of guards leave nothing behind.
func TestCallsOverManyLayersLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 3}})
		var leaves []*guard.Guard
		for i := range 6 {
			mid := made(t, guard.Policy{Within: []*guard.Guard{root}, Limits: rate(throttle.Bucket(float64(5+i), 2))})
			leaves = append(leaves, mid, made(t, guard.Policy{Within: []*guard.Guard{mid}, Limits: throttle.Limits{Concurrency: 1}}))
		}
		var wg sync.WaitGroup
		for i := range 400 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 7 * time.Millisecond)
				ctx := t.Context()
				if i%5 == 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Duration(i)*time.Millisecond)
					defer cancel()
				}
				hit := i%7 == 0
				err := leaves[i%len(leaves)].Do(ctx, throttle.Cost{}, func(context.Context) error {
					time.Sleep(50 * time.Millisecond)
					if hit {
						hit = false
						return &adaptive.RateLimitHit{RetryAfter: 10 * time.Millisecond}
					}
					return nil
				})
				assert.True(t, err == nil || ctx.Err() != nil || i%5 == 0, "%v", err)
			})
		}
		wg.Wait()
		for _, g := range append(leaves, root) {
			assert.Zero(t, g.Stats().InFlight+g.Stats().Waiting)
		}
	})
}

// A wait for several guards counts in full in each of them, also that behind calls of the same guards.
func TestLayersCountWholeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer := made(t, guard.Policy{Name: "host", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Second)}}})
		inner := made(t, guard.Policy{Name: "user", Within: []*guard.Guard{outer}, Limits: throttle.Limits{Concurrency: 9}})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { assert.NoError(t, do(t.Context(), inner, ok(0))) })
			synctest.Wait()
		}
		wg.Wait()
		for _, g := range []*guard.Guard{inner, outer} {
			s := g.Stats()
			assert.Equal(t, []any{int64(3), 6 * time.Second, 3 * time.Second}, []any{s.Waits, s.Waited, s.LongestWait}, g.Name())
		}
	})
}
