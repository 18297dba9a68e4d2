package registry_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

// Ten goroutines and three guards within it find the limiter of one key each in its own way.
func TestAllWhoShareAKeyStayWithinItsWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := newRegistry(t, registry.Config{Guards: map[string]registry.Spec{
			"openai": {Limits: limits(t, "20/s, 300/min, bucket 8/s burst 30, 7 concurrent")},
		}})
		j := newJudge(
			oracle.Sliding(0, 20, time.Second), oracle.Sliding(0, 300, time.Minute),
			oracle.Bucket(0, 8, time.Second, 30).WithSlack(15*time.Millisecond), oracle.Concurrency(7),
		)
		call := func(context.Context) error {
			defer j.admitted()()
			time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
			return nil
		}
		ways := []func() *guard.Guard{
			func() *guard.Guard { return reg.Get("openai") },
			func() *guard.Guard { return reg.Get(" OpenAI ") },
			func() *guard.Guard { return reg.For("openai", "api.openai.com") },
			func() *guard.Guard { return reg.For("OpenAI") },
			func() *guard.Guard {
				l, err := reg.GetOrCreate("openai", guard.Policy{})
				assert.NoError(t, err)
				return l
			},
		}
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				for range 30 {
					assert.NoError(t, do(t.Context(), ways[i%len(ways)](), call))
				}
			})
		}
		for i := range 3 {
			wg.Go(func() {
				within, err := guard.New(guard.Policy{Within: []*guard.Guard{ways[i]()}, Limits: throttle.Limits{Concurrency: 5}})
				assert.NoError(t, err)
				for range 100 {
					assert.NoError(t, do(t.Context(), within, call))
				}
			})
		}
		wg.Wait()
		require.NoError(t, j.Verdict().Err())
		assert.Equal(t, 600, j.calls)
		for _, tally := range j.Verdict().Tallies {
			assert.Greater(t, tally.Worst.Observed, tally.Worst.Allowed-1, "%s was not used to the full", tally.Rule)
		}
		assert.Equal(t, []string{"openai"}, reg.Names())
	})
}

// Limits that are replaced while calls wait: every call is served, within the limits of that moment.
func TestReplaceUnderLoadDropsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := newRegistry(t, text(t, "ols: 5/s"))
		first := reg.Get("ols")
		j := newJudge(oracle.Sliding(0, 5, time.Second))
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				for range 20 {
					assert.NoError(t, do(t.Context(), reg.Get("ols"), func(context.Context) error {
						j.admitted()
						time.Sleep(50 * time.Millisecond)
						return nil
					}))
				}
			})
		}
		for i := range 60 {
			time.Sleep(777 * time.Millisecond)
			most := []int64{3, 40, 1, 11}[i%4]
			rule := oracle.Sliding(0, most, time.Second)
			j.add(oracle.Entry{Kind: oracle.Resize, To: &rule})
			l, err := reg.Replace("OLS", guard.Policy{
				Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(most, time.Second)}},
				Law:    []adaptive.Law{nil, adaptive.AIMD{Initial: 20}}[i/2%2],
			})
			require.NoError(t, err)
			require.Same(t, first, l)
			synctest.Wait()
		}
		wg.Wait()
		require.NoError(t, j.Verdict().Err())
		assert.Equal(t, 800, j.calls)
		s := first.Stats()
		assert.Zero(t, s.InFlight+s.Waiting)
	})
}
