package guard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// three are an inner guard, one in the middle and an outer one, each within the next.
func three(t *testing.T, inner, middle, outer guard.Policy) (g [3]*guard.Guard) {
	t.Helper()
	within := []*guard.Guard(nil)
	for i, p := range [...]guard.Policy{2: inner, 1: middle, 0: outer} {
		p.Name = [...]string{2: "inner", 1: "middle", 0: "outer"}[i]
		p.Within = within
		g[2-i] = made(t, p)
		within = []*guard.Guard{g[2-i]}
	}
	return g
}

func attempts(n int) *retry.Policy {
	return &retry.Policy{MaxAttempts: n, Initial: time.Second, Multiplier: 1, NoJitter: true}
}

func TestThreeLayersTheNearestSettingCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := three(t,
			guard.Policy{Retry: attempts(2), Limits: rate(throttle.Sliding(2, time.Hour))},
			guard.Policy{Retry: attempts(3), Timeout: 3 * time.Second, MaxWait: 5 * time.Second},
			guard.Policy{Retry: attempts(4), Timeout: time.Second, MaxWait: 9 * time.Second})
		calls, begin := 0, time.Now()
		assert.ErrorIs(t, do(t.Context(), g[0], func(ctx context.Context) error {
			calls++
			<-ctx.Done()
			return ctx.Err()
		}), context.DeadlineExceeded)
		assert.Equal(t, 2, calls)
		assert.Equal(t, 7*time.Second, time.Since(begin), "two of three seconds, and one between them")
		begin = time.Now()
		assert.ErrorIs(t, do(t.Context(), g[0], nothing), throttle.ErrLimited)
		assert.Equal(t, 5*time.Second, time.Since(begin))
	})
}

// Each breaker hears of each failure, and the nearest that is open is named.
func TestThreeLayersOfBreakers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := guard.Policy{Breaker: &breaker.Config{Failures: 1, Open: time.Hour}}
		g := three(t, one, one, one)
		require.EqualError(t, do(t.Context(), g[0], func(context.Context) error { return errors.New("failed") }), "failed")
		for i, name := range []string{"inner", "middle", "outer"} {
			open := new(breaker.OpenError)
			require.ErrorAs(t, do(t.Context(), g[i], nothing), &open)
			assert.Equal(t, name, open.Breaker)
		}
	})
}

// The nearest detector judges, the nearest law learns, and the laws outside hear
// of a rejected call no more than that it is over.
func TestThreeLayersOfDetectorsAndLaws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard [3]hearing
		policy := func(i int, after time.Duration) guard.Policy {
			return guard.Policy{Law: &heard[i], Detector: func(error) adaptive.Feedback { return hitAfter(after) }}
		}
		g := three(t, policy(0, time.Second), policy(1, time.Minute), policy(2, 5*time.Minute))
		begin, failed := time.Now(), false
		require.NoError(t, do(t.Context(), g[0], func(context.Context) error {
			if failed {
				return nil
			}
			failed = true
			return errors.New("failed")
		}))
		assertJittered(t, time.Second, time.Since(begin))
		assert.Equal(t, []adaptive.Verdict{adaptive.Hit, adaptive.OK}, heard[0].verdicts)
		assert.Equal(t, []adaptive.Verdict{adaptive.Transient, adaptive.OK}, heard[1].verdicts)
		assert.Equal(t, heard[1].verdicts, heard[2].verdicts)
	})
}

// hearing is AIMD that records what it hears.
type hearing struct {
	adaptive.AIMD

	verdicts []adaptive.Verdict
}

func (h *hearing) Start(now time.Time, seed uint64) (adaptive.State, error) {
	s, err := h.AIMD.Start(now, seed)
	return hearingState{s, h}, err
}

type hearingState struct {
	adaptive.State

	law *hearing
}

func (s hearingState) OnResult(now time.Time, sent throttle.Sent, n int, f adaptive.Feedback) {
	s.law.verdicts = append(s.law.verdicts, f.Verdict)
	s.State.OnResult(now, sent, n, f)
}

// A call that was rejected keeps its place on every layer: at most the call that
// is next overtakes it. One that failed queues anew.
func TestThePlaceOfACallThatIsSentAgain(t *testing.T) {
	for layers := 1; layers <= 3; layers++ {
		t.Run(strconv.Itoa(layers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := guard.Policy{Limits: throttle.Limits{Concurrency: 1}, Retry: &retry.Policy{Initial: 1, NoJitter: true}}
				g := three(t, p, p, p)
				call := g[3-layers]
				errs := []error{&adaptive.RateLimitHit{RetryAfter: time.Second}, statusError(500)}
				var mu sync.Mutex
				var order []string
				var wg sync.WaitGroup
				for _, name := range []string{"A", "B", "C", "D"} {
					wg.Go(func() {
						assert.NoError(t, do(t.Context(), call, func(context.Context) error {
							mu.Lock()
							order = append(order, name)
							mu.Unlock()
							time.Sleep(time.Second)
							if name != "A" || len(errs) == 0 {
								return nil
							}
							err := errs[0]
							errs = errs[1:]
							return err
						}))
					})
					synctest.Wait()
				}
				wg.Wait()
				require.Len(t, order, 6)
				again := 1 + slices.Index(order[1:], "A")
				assert.Equal(t, 1, again, "%v", order)
				assert.Equal(t, "A", order[5], "%v", order)
			})
		})
	}
}

// A reported cost is bounded by the windows of every layer and of the preset.
func TestTheBoundOfACostIsThatOfEveryLayer(t *testing.T) {
	tokens := func(n int64) guard.Policy {
		return guard.Policy{Limits: rate(throttle.Sliding(n, time.Minute).Of(throttle.Tokens))}
	}
	table, err := presets.Parse(fmt.Appendf(nil, oneRow, "us/any", time.Now().Year()))
	require.NoError(t, err)
	for about, p := range map[string][3]guard.Policy{
		"inner":  {tokens(100), tokens(200), tokens(300)},
		"middle": {tokens(200), tokens(100), tokens(300)},
		"outer":  {{}, {}, tokens(100)},
		"preset": {tokens(200), {}, {Preset: "us/any", Presets: table}},
	} {
		t.Run(about, func(t *testing.T) {
			var seen judged
			require.NoError(t, three(t, p[0], p[1], p[2])[0].Do(inflight.Watch(t.Context(), &seen), throttle.Cost{Tokens: 1}, func(ctx context.Context) error {
				guard.Use(ctx, throttle.Cost{Tokens: 1e9})
				return nil
			}))
			assert.EqualValues(t, 100, seen.Used.Tokens)
		})
	}
}

// judged is the last verdict.
type judged struct{ adaptive.Feedback }

func (*judged) Waits()                                {}
func (*judged) Queued()                               {}
func (*judged) Admitted(throttle.Bound)               {}
func (j *judged) Judged(f adaptive.Feedback, _ error) { j.Feedback = f }
func (*judged) Rejected(error)                        {}
func (*judged) Retries(int, time.Duration, error)     {}
func (*judged) Rested(context.Context) bool           { return true }

// A call that hangs is final, and a failure for the breaker.
func TestACallThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := guard.Policy{Timeout: time.Second, Retry: attempts(3), Breaker: &breaker.Config{Failures: 1, Open: time.Hour}}
		g := three(t, p, guard.Policy{Breaker: p.Breaker}, guard.Policy{})
		var calls atomic.Int64
		require.ErrorAs(t, do(t.Context(), g[0], func(context.Context) error {
			calls.Add(1)
			time.Sleep(time.Minute)
			return nil
		}), new(*fault.HungError))
		assert.EqualValues(t, 1, calls.Load())
		for _, one := range g[:2] {
			assert.ErrorAs(t, one.Try(t.Context(), throttle.Cost{}, nothing), new(*breaker.OpenError))
		}
		time.Sleep(time.Hour)
	})
}

// So is one that hung inside.
func TestACallInsideThatHungIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, inner := made(t, guard.Policy{Retry: attempts(3)}), made(t, guard.Policy{Timeout: time.Second})
		calls := 0
		require.ErrorAs(t, do(t.Context(), outer, func(ctx context.Context) error {
			calls++
			return do(ctx, inner, func(context.Context) error { time.Sleep(time.Minute); return nil })
		}), new(*fault.HungError))
		assert.Equal(t, 1, calls)
		time.Sleep(time.Minute)
	})
}

// What a caller is asked to wait never exceeds a day.
func TestRetryAfterIsADayAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 1}})
		require.NoError(t, do(t.Context(), g, ok(40*time.Hour)))
		require.NoError(t, do(t.Context(), g, func(context.Context) error {
			limited := new(throttle.LimitedError)
			require.ErrorAs(t, g.Try(t.Context(), throttle.Cost{}, nothing), &limited) //nolint:contextcheck // outside of the call
			assert.Equal(t, 24*time.Hour, limited.RetryAfter)
			return nil
		}))
	})
}

// One call probes a quota that is used up. The others wait for its outcome.
func TestOneCallProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{})
		sent := 0
		quota := func(context.Context) error {
			sent++
			time.Sleep(time.Second)
			return statusError(402)
		}
		require.ErrorIs(t, do(t.Context(), g, quota), adaptive.ErrQuotaExhausted)
		time.Sleep(time.Minute)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { assert.ErrorIs(t, do(t.Context(), g, quota), adaptive.ErrQuotaExhausted) })
		}
		wg.Wait()
		assert.Equal(t, 2, sent)
	})
}

// That a preset is out of date is reported once in a process.
func TestAStalePresetIsReportedOnce(t *testing.T) {
	id := fmt.Sprintf("us/tier%d", time.Now().UnixNano())
	table, err := presets.Parse(fmt.Appendf(nil, oneRow, id, 2020))
	require.NoError(t, err)
	var seen journal
	for range 3 {
		g := made(t, guard.Policy{Preset: presets.ID(id), Presets: table, Observer: &seen})
		for range 2 {
			require.NoError(t, do(t.Context(), g, nothing))
		}
	}
	require.Equal(t, []event.Kind{event.LimiterStalePreset}, seen.kinds())
	assert.Equal(t, id, seen.events[0].Key)
}

// oneRow is a table of presets with this ID and year.
const oneRow = `{"sources": {"us": {"title": "our contract", "url": "https://example.com/contract"}}, "presets": [
	{"id": %q, "main": true, "tpm": 100, "source": "us", "as_of": "%d-01-01", "confidence": "high"}]}`
