package adaptive_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// provider refuses above a hidden number of calls at once, and by a token
// bucket above a rate.
type provider struct {
	mu       sync.Mutex
	cap      int
	perToken time.Duration
	burst    int
	latency  time.Duration

	inFlight, most  int
	tokens          int
	refilled        time.Time
	served, refused int
}

func (p *provider) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.refilled.IsZero() {
		p.refilled, p.tokens = now, p.burst
	}
	refill := int(now.Sub(p.refilled) / p.perToken)
	p.refilled = p.refilled.Add(time.Duration(refill) * p.perToken)
	p.tokens = min(p.burst, p.tokens+refill)
	switch {
	case p.inFlight >= p.cap:
		p.refused++
		return &sdkError{Type: "concurrency", Response: answered(429).Response}
	case p.tokens == 0:
		p.refused++
		return &sdkError{Type: "requests", Response: answered(429, "Retry-After", "1").Response}
	}
	p.tokens--
	p.inFlight++
	p.most = max(p.most, p.inFlight)
	return nil
}

func (p *provider) call() error {
	if err := p.enter(); err != nil {
		return err
	}
	time.Sleep(p.latency)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight--
	p.served++
	return nil
}

func TestAWholeRunAgainstAProviderWithHiddenLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{cap: 8, perToken: 50 * time.Millisecond, burst: 10, latency: 300 * time.Millisecond}
		l := limiter(t, adaptive.Config{
			Limits: throttle.Limits{Concurrency: 12},
			Law:    adaptive.AIMD{Initial: 12, Max: 40},
		})
		const workers, each = 50, 20
		out := &gauge{}
		finished := make([]int, workers)
		began := time.Now()
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for range each {
					err := do(t.Context(), l, func(context.Context) error {
						defer out.enter()()
						time.Sleep(5 * time.Millisecond) // on the way there
						return p.call()
					})
					if assert.NoError(t, err) {
						finished[w]++
					}
				}
			})
		}
		wg.Wait()

		took, v := time.Since(began), l.View()
		t.Logf("%d served and %d refused in %s: %+v", p.served, p.refused, took, v)
		assert.Equal(t, workers*each, p.served, "nothing is lost, nothing is sent twice")
		for w, n := range finished {
			assert.Equal(t, each, n, "worker %d", w)
		}
		assert.Equal(t, int64(p.refused), v.Hits, "every refusal was heard once")
		assert.GreaterOrEqual(t, v.Cuts, int64(1))
		assert.GreaterOrEqual(t, v.Recoveries, int64(1))
		assert.LessOrEqual(t, v.Cuts, v.Hits)
		assert.LessOrEqual(t, out.most.Load(), int64(12), "the user's own bound")
		assert.Less(t, p.refused, p.served/2, "most calls are answered")
		assert.Less(t, took, 5*workers*each*p.perToken, "at no less than a fifth of what the provider allows")
		assert.Zero(t, l.Throttle().Stats().InFlight)
		assert.Zero(t, l.Throttle().Stats().Waiting)
	})
}
