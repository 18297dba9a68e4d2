package throttle_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// crowd makes calls for as long as its context lasts.
type crowd struct {
	ctx  context.Context //nolint:containedctx // it is the end of the test
	wg   sync.WaitGroup
	mu   sync.Mutex // guards what follows
	sent map[string]int
	most map[string]time.Duration // the longest wait
}

// loop has callers make calls of cost c that take about d, from at on.
func (c *crowd) loop(name string, callers int, at, d time.Duration, cost throttle.Cost, limiters ...*throttle.Limiter) {
	for i := range callers {
		rnd := rand.New(rand.NewPCG(uint64(i), uint64(len(name))))
		c.wg.Go(func() {
			time.Sleep(at)
			permits := make([]throttle.Permit, len(limiters))
			for c.ctx.Err() == nil {
				asked := time.Now()
				err := throttle.AcquireAll(c.ctx, limiters, cost, nil, permits)
				c.mu.Lock()
				c.most[name] = max(c.most[name], time.Since(asked))
				if err == nil {
					c.sent[name]++
				}
				c.mu.Unlock()
				if err != nil {
					return
				}
				time.Sleep(d/2 + time.Duration(rnd.Int64N(int64(d))))
				for _, p := range permits {
					p.Release()
				}
			}
		})
	}
}

// for lets the loops run for d.
func (c *crowd) run(t *testing.T, d time.Duration, begin func(c *crowd)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		c.ctx, c.sent, c.most = ctx, map[string]int{}, map[string]time.Duration{}
		begin(c)
		c.wg.Wait()
	})
}

// Slots of two limiters are never free at the same instant by chance, if other
// calls need one of them each.
func TestACallThatNeedsTwoBusySlotsIsServed(t *testing.T) {
	slots := func(t *testing.T) *throttle.Limiter { t.Helper(); return limited(t, throttle.Limits{Concurrency: 2}) }
	var c crowd
	c.run(t, 10*time.Minute, func(c *crowd) {
		u1, u2, h1, h2 := slots(t), slots(t), slots(t), slots(t)
		c.loop("u1 h2", 4, 0, time.Second, throttle.Cost{}, u1, h2)
		c.loop("u2 h1", 4, 0, time.Second, throttle.Cost{}, u2, h1)
		c.loop("both", 4, time.Second, time.Second, throttle.Cost{}, u1, h1)
	})
	assert.Less(t, c.most["both"], 2*time.Minute)
	assert.Greater(t, c.sent["both"], 100)
	assert.Greater(t, c.sent["u1 h2"]+c.sent["u2 h1"], 1200, "half of what goes without them")
}

// What a call inside of another waits for is not kept back for ever.
func TestACallThatInsistsDoesNotBlockTheOneThatItWaitsFor(t *testing.T) {
	var c crowd
	c.run(t, 10*time.Minute, func(c *crowd) {
		x, y := limited(t, throttle.Limits{Concurrency: 1}), limited(t, throttle.Limits{Concurrency: 1})
		c.loop("y", 3, 0, 100*time.Millisecond, throttle.Cost{}, y)
		c.loop("both", 1, time.Second, 100*time.Millisecond, throttle.Cost{}, x, y)
		for range 2 {
			c.wg.Go(func() {
				for c.ctx.Err() == nil {
					p, err := x.Acquire(c.ctx, throttle.Cost{})
					if err != nil {
						return
					}
					inside, err := y.Acquire(c.ctx, throttle.Cost{})
					if err == nil {
						c.mu.Lock()
						c.sent["nested"]++
						c.mu.Unlock()
						time.Sleep(100 * time.Millisecond)
						inside.Release()
					}
					p.Release()
				}
			})
		}
	})
	assert.Greater(t, c.sent["nested"], 100)
	assert.Greater(t, c.sent["both"], 100)
}

// A call that needs a whole window has its turn, and the others most of the rest.
func TestACallThatNeedsAWholeWindowIsServed(t *testing.T) {
	var c crowd
	c.run(t, 5*time.Minute, func(c *crowd) {
		x, y := limited(t, within(throttle.Sliding(10, time.Second))), limited(t, within(throttle.Sliding(10, time.Second)))
		c.loop("x", 10, 0, 50*time.Millisecond, throttle.Cost{}, x)
		c.loop("y", 10, 370*time.Millisecond, 50*time.Millisecond, throttle.Cost{}, y)
		c.loop("both", 1, time.Second, time.Millisecond, throttle.Cost{Requests: 10}, x, y)
	})
	assert.Greater(t, c.sent["both"], 50)
	assert.Greater(t, c.sent["x"], 150)
	assert.Greater(t, c.sent["y"], 1000)
}

// Calls that do not wait may not overtake one that does for ever.
func TestCallsThatDoNotWaitStarveNone(t *testing.T) {
	var c crowd
	c.run(t, 5*time.Minute, func(c *crowd) {
		x, y := limited(t, within(throttle.Sliding(1, time.Second))), limited(t, within(throttle.Sliding(1, time.Second)))
		for i, l := range []*throttle.Limiter{x, y} {
			c.wg.Go(func() {
				time.Sleep(time.Duration(i) * 500 * time.Millisecond)
				for c.ctx.Err() == nil {
					l.Allow(throttle.Cost{})
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		c.loop("both", 1, 700*time.Millisecond, time.Millisecond, throttle.Cost{}, x, y)
	})
	assert.Greater(t, c.sent["both"], 50)
}

// A joint call is refused by each of its limiters, wherever it waits.
func TestClosingReachesAJointCallThatWaitsElsewhere(t *testing.T) {
	for name, change := range map[string]func(*throttle.Limiter){
		"closed": func(l *throttle.Limiter) { l.Close(nil) },
		"narrower": func(l *throttle.Limiter) {
			_ = l.SetLimits(within(throttle.Sliding(1, time.Minute).Of(throttle.Tokens)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				own, outer := limited(t, within(throttle.Sliding(1, time.Hour))), limited(t, throttle.Limits{})
				require.True(t, own.Allow(throttle.Cost{}))
				began := time.Now()
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() {
						permits := make([]throttle.Permit, 2)
						assert.Error(t, throttle.AcquireAll(t.Context(), []*throttle.Limiter{own, outer}, throttle.Cost{Tokens: 2}, nil, permits))
					})
				}
				synctest.Wait()
				change(outer)
				wg.Wait()
				assert.Zero(t, time.Since(began))
				assert.Zero(t, own.Stats().Waiting+outer.Stats().Waiting)
			})
		})
	}
}

// Callers of a limiter itself are one line of several: a joint call is not behind all of them.
func TestADeadlineDoesNotCountOtherLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, outer := limited(t, throttle.Limits{Concurrency: 9}), limited(t, within(throttle.Sliding(1, 100*time.Millisecond)))
		defer waiting(t, 100, outer)()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		end, err := all(ctx, own, outer)
		require.NoError(t, err)
		end()
	})
}

// A call that was admitted before stands ahead of the first of its line.
func TestAJointCallKeepsItsPlaceAheadOfItsLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, outer := limited(t, within(throttle.Sliding(1, time.Second))), limited(t, throttle.Limits{Concurrency: 9})
		limiters := []*throttle.Limiter{own, outer}
		require.NoError(t, throttle.AcquireAll(t.Context(), limiters, throttle.Cost{}, nil, make([]throttle.Permit, 2)))
		var mu sync.Mutex
		var order []string
		var wg sync.WaitGroup
		call := func(name string, places []int64) {
			wg.Go(func() {
				permits := make([]throttle.Permit, 2)
				if assert.NoError(t, throttle.AcquireAll(t.Context(), limiters, throttle.Cost{}, places, permits)) {
					mu.Lock()
					order = append(order, name)
					mu.Unlock()
				}
			})
			synctest.Wait()
		}
		call("B", nil)
		call("C", nil)
		call("A", []int64{1, 1})
		wg.Wait()
		assert.Equal(t, []string{"A", "B", "C"}, order)
	})
}
