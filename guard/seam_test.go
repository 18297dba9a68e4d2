package guard_test

import (
	"context"
	"errors"
	"net/http/httptrace"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// An impatient call does not wait for an attempt that its deadline would cut short.
func TestADeadlineBeforeTheNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{Retry: &retry.Policy{Initial: time.Minute}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin, failure := time.Now(), errors.New("failed")
		call := new(guard.Call)
		inflight.Request(call, g, throttle.Cost{}, nil)
		_, err := call.Admit(ctx)
		require.NoError(t, err)
		again, err := call.End(adaptive.Feedback{Err: failure})
		assert.False(t, again)
		assert.ErrorIs(t, err, failure)
		assert.Zero(t, time.Since(begin))
	})
}

func request(g *guard.Guard, p *retry.Policy) *guard.Call {
	call := new(guard.Call)
	inflight.Request(call, g, throttle.Cost{}, p)
	return call
}

// Requests of a transport are measured before the first 429, whatever the retry policy
// that it gives. Other calls of a guard that bounds nothing are left to the guards inside.
func TestRequestsOfATransportAreMeasured(t *testing.T) {
	for _, tc := range []struct {
		about string
		begin func(*guard.Guard) *guard.Call
		want  int
	}{
		{"a request", func(g *guard.Guard) *guard.Call { return request(g, nil) }, 1},
		{"a request with a retry policy", func(g *guard.Guard) *guard.Call { return request(g, &retry.Policy{}) }, 1},
		{"a call", func(g *guard.Guard) *guard.Call { return g.Begin(throttle.Cost{}) }, 0},
	} {
		o := &seenCalls{Func: func(event.Event) {}}
		call := tc.begin(made(t, guard.Policy{Observer: o}))
		_, err := call.Admit(t.Context())
		require.NoError(t, err, tc.about)
		_, err = call.End(adaptive.Feedback{Verdict: adaptive.OK})
		require.NoError(t, err, tc.about)
		assert.Equal(t, tc.want, o.n, tc.about)
	}
}

type seenCalls struct {
	event.Func

	n int
}

func (c *seenCalls) ObserveCall(event.Call) { c.n++ }

// While a rejection is being read nothing else is admitted.
func TestHold(t *testing.T) {
	for name, end := range map[string]func(*guard.Call, inflight.Attempt){
		"ended":     func(c *guard.Call, _ inflight.Attempt) { _, _ = c.End(adaptive.Feedback{Verdict: adaptive.OK}) },
		"abandoned": func(_ *guard.Call, a inflight.Attempt) { a.Abandon(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := made(t, guard.Policy{})
				call := g.Begin(throttle.Cost{})
				ctx, err := call.Admit(t.Context())
				require.NoError(t, err)
				held := inflight.Of(ctx)
				held.Hold()
				held.Hold()
				var admitted time.Time
				go func() {
					assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(context.Context) error { admitted = time.Now(); return nil }))
				}()
				time.Sleep(time.Second)
				assert.Zero(t, admitted)
				end(call, held)
				held.Hold() // too late
				synctest.Wait()
				assert.Equal(t, time.Now(), admitted)
			})
		})
	}
}

// Hold may come while the attempt ends: run it with -race.
func TestHoldWhileTheAttemptEnds(t *testing.T) {
	g := made(t, guard.Policy{})
	for range 100 {
		call := g.Begin(throttle.Cost{})
		ctx, err := call.Admit(t.Context())
		require.NoError(t, err)
		inflight.Of(ctx).Hold()
		var wg sync.WaitGroup
		wg.Go(func() { inflight.Of(ctx).Hold() })
		_, err = call.End(adaptive.Feedback{Verdict: adaptive.OK})
		require.NoError(t, err)
		wg.Wait()
	}
	assert.NoError(t, g.Try(t.Context(), throttle.Cost{}, nothing), "nothing is held")
}

// Each connection that net/http uses is charged as a request, also beside a
// reported cost that names none. Points are charged as reserved.
func TestWireAttemptsAreCharged(t *testing.T) {
	for name, c := range map[string]struct {
		connections int
		used        throttle.Cost
		want        throttle.Cost
	}{
		"none, reported":   {0, throttle.Cost{Input: 3}, throttle.Cost{Requests: 1, Input: 3, Points: 2}},
		"one":              {1, throttle.Cost{}, throttle.Cost{Requests: 1, Input: 5, Points: 2}},
		"two":              {2, throttle.Cost{}, throttle.Cost{Requests: 2, Input: 10, Points: 4}},
		"two, reported":    {2, throttle.Cost{Input: 3}, throttle.Cost{Requests: 2, Input: 3, Points: 2}},
		"two, all told":    {2, throttle.Cost{Input: 3, Points: 1}, throttle.Cost{Requests: 2, Input: 3, Points: 1}},
		"two, as reserved": {2, throttle.Cost{Input: 5, Points: 2}, throttle.Cost{Requests: 2, Input: 5, Points: 2}},
		"two, equal":       {2, throttle.Cost{Requests: 1, Input: 5, Points: 2}, throttle.Cost{Requests: 2, Input: 5, Points: 2}},
		"more than holds":  {9, throttle.Cost{Input: 3}, throttle.Cost{Requests: 8, Input: 3, Points: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := made(t, guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{
					throttle.Sliding(8, time.Minute), throttle.Sliding(50, time.Minute).Of(throttle.InputTokens), throttle.Sliding(50, time.Minute).Of(throttle.Points),
				}}})
				require.NoError(t, g.Do(t.Context(), throttle.Cost{Requests: 1, Input: 5, Points: 2}, func(ctx context.Context) error {
					trace := httptrace.ContextClientTrace(guard.CountWire(ctx))
					for range c.connections {
						trace.GetConn("h")
						trace.GotConn(httptrace.GotConnInfo{})
					}
					asked, got := inflight.Of(ctx).Wire()
					assert.EqualValues(t, c.connections, asked)
					assert.EqualValues(t, c.connections, got)
					guard.Report(ctx, adaptive.Feedback{Used: c.used})
					return nil
				}))
				use := g.Stats().Windows
				assert.Equal(t, c.want, throttle.Cost{Requests: use[0].Spent, Input: use[1].Spent, Points: use[2].Spent})
			})
		})
	}
	assert.Equal(t, t.Context(), guard.CountWire(t.Context()))
}

// A final answer without a verdict is not repeated, whatever the detectors say.
func TestFinalIsKeptWhenTheDetectorsJudge(t *testing.T) {
	g := made(t, guard.Policy{Retry: &retry.Policy{}})
	call := g.Begin(throttle.Cost{})
	_, err := call.Admit(t.Context())
	require.NoError(t, err)
	again, err := call.End(adaptive.Feedback{Err: errors.New("failed"), Final: true})
	assert.False(t, again)
	assert.EqualError(t, err, "failed")
}
