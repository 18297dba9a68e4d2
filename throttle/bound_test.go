package throttle_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

func TestBoundString(t *testing.T) {
	for want, b := range map[string]throttle.Bound{
		"nothing":                             {},
		"100/s for another 40ms":              {Kind: throttle.BoundByWindow, Window: throttle.Sliding(100, time.Second), Wait: 40 * time.Millisecond},
		"the concurrency until a call ends":   {Kind: throttle.BoundByConcurrency, Wait: throttle.Forever},
		"20/s in the store for another 1s":    {Kind: throttle.BoundByStore, Window: throttle.Sliding(20, time.Second), Wait: time.Second},
		"a pause for another 1s":              {Kind: throttle.BoundByPause, Wait: time.Second},
		"the controller for another 1s":       {Kind: throttle.BoundByGovernor, Wait: time.Second},
		"the store for another 1s":            {Kind: throttle.BoundByStore, Wait: time.Second},
		"the controller until a call ends":    {Kind: throttle.BoundByGovernor, Wait: throttle.Forever},
		"10 tokens/min for another 1m0s":      {Kind: throttle.BoundByWindow, Window: throttle.Sliding(10, time.Minute).Of(throttle.Tokens), Wait: time.Minute},
		"bucket 5/s burst 2 for another 10ms": {Kind: throttle.BoundByWindow, Window: throttle.Bucket(5, 2), Wait: 10 * time.Millisecond},
	} {
		assert.Equal(t, want, b.String())
	}
}

// Stats names what holds back the head or, if no call waits, the next call.
func TestStatsNamesWhatBinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &law{}
		requests, budget := throttle.Sliding(3, time.Second), throttle.Sliding(10, time.Minute).Of(throttle.Tokens)
		l := newLimiter(t, throttle.Limits{Concurrency: 2, Windows: []throttle.Window{requests, budget}}, governed(g))
		assert.Equal(t, throttle.Bound{}, l.Stats().Bound)

		require.True(t, l.Allow(throttle.Cost{Requests: 3, Tokens: 4}))
		assert.Equal(t, throttle.Bound{Kind: throttle.BoundByWindow, Window: requests, Wait: time.Second}, l.Stats().Bound)
		c := spawn(l, tokens(7), 0)
		_, before, _ := g.heard()
		assert.Equal(t, throttle.Bound{Kind: throttle.BoundByWindow, Window: budget, Wait: time.Minute}, l.Stats().Bound, "the longest of the waits of the head")
		_, after, _ := g.heard()
		assert.NotZero(t, before)
		assert.LessOrEqual(t, after, 1)
		c.cancel(nil)
		sleep(time.Minute)

		a, b := spawn(l, throttle.Cost{}, 0), spawn(l, throttle.Cost{}, 0)
		require.True(t, a.finished() && b.finished())
		assert.Equal(t, throttle.Bound{Kind: throttle.BoundByConcurrency, Wait: throttle.Forever}, l.Stats().Bound)
		a.permit.Release()
		g.always(3 * time.Second)
		assert.Equal(t, throttle.Bound{Kind: throttle.BoundByGovernor, Wait: 3 * time.Second}, l.Stats().Bound)
		l.PauseUntil(time.Now().Add(time.Hour))
		assert.Equal(t, throttle.Bound{Kind: throttle.BoundByPause, Wait: time.Hour}, l.Stats().Bound)
		b.permit.Release()
	})
}
