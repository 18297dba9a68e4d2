package guard_test

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/throttle"
)

// unadmitted are how a call can be made that is not admitted before the first rejection, or is.
func unadmitted(t *testing.T, g *guard.Guard) map[string]func(verdict error) {
	t.Helper()
	lane := inflight.NewLane(t.Context(), g)
	return map[string]func(error){
		"Do": func(verdict error) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_ = g.Do(ctx, throttle.Cost{Requests: 1, Tokens: 7}, func(context.Context) error {
				if verdict != nil {
					cancel() // it is not sent again
				}
				return verdict
			})
		},
		"Begin": func(verdict error) {
			call := g.Begin(throttle.Cost{Requests: 1, Tokens: 7})
			_, err := call.Admit(t.Context())
			require.NoError(t, err)
			_, _ = call.End(adaptive.Feedback{Err: verdict, Final: true})
		},
		"a lane": func(verdict error) {
			admit(t, lane, throttle.Cost{Requests: 1, Tokens: 7})
			if verdict != nil || !lane.Done() {
				_, _ = lane.End(adaptive.Feedback{Err: verdict, Final: true})
			}
		},
	}
}

// A controller that starts at the first rejection uses what was admitted before.
func TestALawKnowsWhatWentBeforeIt(t *testing.T) {
	for _, name := range []string{"Do", "Begin", "a lane"} {
		for _, c := range []struct {
			every time.Duration
			calls int
		}{{20 * time.Millisecond, 300}, {100 * time.Millisecond, 600}, {time.Second, 40}} {
			t.Run(name+" every "+c.every.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := made(t, guard.Policy{})
					call := unadmitted(t, g)[name]
					for range c.calls {
						call(nil)
						time.Sleep(c.every)
					}
					call(&adaptive.RateLimitHit{})
					want := float64(time.Second) / float64(c.every)
					assert.InEpsilon(t, want, g.Stats().View.Pace[throttle.Requests], 0.1)
					if name == "Begin" { // the others are not asked for their tokens
						assert.InEpsilon(t, 7*want, g.Stats().View.Pace[throttle.Tokens], 0.1)
					}
					require.NoError(t, g.Reset())
					time.Sleep(time.Hour)
					call(&adaptive.RateLimitHit{})
					assert.InDelta(t, 4, g.Stats().View.Pace[throttle.Requests], 0.2, "that was forgotten")
				})
			})
		}
	}
}

// Windows that admit more than the provider make no difference.
func TestALawKnowsWhatWentBeforeItWithinWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1000, time.Second)}}})
		call := unadmitted(t, g)["Begin"]
		for range 300 {
			call(nil)
			time.Sleep(20 * time.Millisecond)
		}
		call(&adaptive.RateLimitHit{})
		assert.InEpsilon(t, 50, g.Stats().View.Pace[throttle.Requests], 0.1)
	})
}

// Limits above those of the provider do not slow down the first seconds.
func TestLimitsAboveThoseOfTheProvider(t *testing.T) {
	for _, limits := range []string{"unlimited", "1000/s", "60000/min", "1000/s, 100 concurrent"} {
		t.Run(limits, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lim, err := throttle.ParseLimits(limits)
				require.NoError(t, err)
				g := made(t, guard.Policy{Limits: lim})
				p := &provider{cap: math.MaxInt, perToken: time.Second / 150, burst: 150, latency: 100 * time.Millisecond}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				var wg sync.WaitGroup
				for range 200 {
					wg.Go(func() {
						for ctx.Err() == nil {
							_ = g.Do(ctx, throttle.Cost{}, func(context.Context) error { return p.call() })
						}
					})
				}
				wg.Wait()
				assert.Greater(t, p.served, 800, "of 900")
			})
		})
	}
}

// However calls came, the moments are in order, and the number of calls by each of them is true.
func TestMomentsAreTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at, byThen := time.Duration(0), map[time.Duration]int64{}
		var p guard.Prelude
		n := rapid.IntRange(1, 400).Draw(t, "calls")
		base := time.Unix(0, 0)
		for seq := range int64(n) {
			at += time.Duration(math.Exp(rapid.Float64Range(0, 22).Draw(t, "pause")))
			byThen[at] = seq + 1
			p.Note(throttle.Sent{Seq: seq + 1, At: base.Add(at)})
		}
		last := throttle.Sent{Seq: int64(n) + 3, At: base.Add(at + 1)}
		moments := p.Until(last)
		require.Equal(t, last, moments[len(moments)-1])
		for i, m := range moments[:len(moments)-1] {
			assert.Equal(t, byThen[m.At.Sub(base)], m.Seq)
			assert.Less(t, m.Seq, moments[i+1].Seq)
		}
	})
}

// Of calls that are sent together, those that succeeded set the rate, in whatever order the rejections arrive.
func TestTheFirstCallsLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{})
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				attempts := 0
				assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(context.Context) error {
					if attempts++; attempts == 1 && i%2 == 0 {
						time.Sleep(time.Duration(10+i) * time.Millisecond)
						return &adaptive.RateLimitHit{Kind: adaptive.KindRequests}
					}
					time.Sleep(200 * time.Millisecond)
					return nil
				}))
			})
		}
		wg.Wait()
		assert.InEpsilon(t, 60, g.Stats().View.Pace[throttle.Requests], 0.2, "30 in half a second, which is the shortest time that counts")
	})
}

// lateClock stops the second time that a call reads it: when the call is noted, after it was counted.
type lateClock struct {
	clockwork.Clock

	reads       atomic.Int64 // since the guard was made
	late, going chan struct{}
}

func (c *lateClock) Since(t time.Time) time.Duration {
	if c.reads.Add(1) == 2 {
		close(c.late)
		<-c.going
	}
	return c.Clock.Since(t)
}

// paceAfter is the pace after one of n calls that are sent together is rejected. between is called after the first of them, and
// after all.
func paceAfter(t *testing.T, g *guard.Guard, n int, between func()) float64 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg, out sync.WaitGroup
	for i := range n {
		out.Add(1)
		wg.Go(func() {
			_ = g.Do(ctx, throttle.Cost{}, func(context.Context) error {
				out.Done()
				if i > 0 {
					<-ctx.Done()
					return nil
				}
				time.Sleep(10 * time.Millisecond)
				return &adaptive.RateLimitHit{Kind: adaptive.KindRequests}
			})
		})
		if i == 0 || i == n-1 {
			synctest.Wait()
			between()
		}
	}
	out.Wait()
	time.Sleep(20 * time.Millisecond)
	pace := g.Stats().View.Pace[throttle.Requests]
	cancel()
	wg.Wait()
	return pace
}

// Of calls that are sent together, any may note the moment, before or after the others are counted.
func TestCallsBeforeTheFirstMomentCount(t *testing.T) {
	const calls = 60
	synctest.Test(t, func(t *testing.T) {
		want := paceAfter(t, made(t, guard.Policy{}), calls, func() {})

		late := &lateClock{Clock: clockwork.NewRealClock(), late: make(chan struct{}), going: make(chan struct{})}
		g := made(t, guard.Policy{Clock: late})
		late.reads.Store(0)
		first := true
		assert.InEpsilon(t, want, paceAfter(t, g, calls, func() {
			if first {
				<-late.late
				first = false
				return
			}
			close(late.going)
		}), 0.02)

		g = made(t, guard.Policy{})
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(context.Context) error { return nil }))
		require.NoError(t, g.Reset())
		assert.InEpsilon(t, want, paceAfter(t, g, calls, func() {}), 0.02, "soon after a call that was forgotten")
	})
}

// A program that calls many hosts has many guards, most of them with few calls.
func TestAGuardWithOneCallIsSmall(t *testing.T) {
	const guards = 500
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what is in pools is dropped at the second one
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, all := heap(), make([]*guard.Guard, guards)
	for i := range all {
		g, err := guard.New(guard.Policy{Name: "a"})
		require.NoError(t, err)
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(context.Context) error { return nil }))
		all[i] = g
	}
	assert.Less(t, (heap()-before)/guards, int64(6<<10))
	runtime.KeepAlive(all)
}
