package guard_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/throttle"
)

// made is the guard of p.
func made(tb testing.TB, p guard.Policy) *guard.Guard {
	tb.Helper()
	g, err := guard.New(p)
	require.NoError(tb, err)
	return g
}

// capped is a policy of n calls in flight, all of them from the start.
func capped(n int) guard.Policy {
	return guard.Policy{Name: "api", Law: adaptive.AIMD{Initial: n, Max: n}}
}

// observed is p with an observer.
func observed(p guard.Policy, o event.Observer) guard.Policy {
	p.Observer = o
	return p
}

func rate(w ...throttle.Window) throttle.Limits { return throttle.Limits{Windows: w} }

func do(ctx context.Context, g *guard.Guard, fn func(context.Context) error) error {
	return g.Do(ctx, throttle.Cost{}, fn)
}

func nothing(context.Context) error { return nil }

// ok is a call that takes d.
func ok(d time.Duration) func(context.Context) error {
	return func(context.Context) error {
		time.Sleep(d)
		return nil
	}
}

// rejectedOnce is a call that is rejected once, with that Retry-After.
func rejectedOnce(after time.Duration) (fn func(context.Context) error, calls *atomic.Int64) {
	calls = new(atomic.Int64)
	return func(context.Context) error {
		if calls.Add(1) == 1 {
			return &adaptive.RateLimitHit{RetryAfter: after}
		}
		return nil
	}, calls
}

// abandon abandons the innermost attempt in ctx.
func abandon(ctx context.Context) bool {
	a := inflight.Of(ctx)
	return a != nil && a.Abandon(nil)
}

func of(v adaptive.Verdict) adaptive.Feedback { return adaptive.Feedback{Verdict: v} }

func hitAfter(d time.Duration) adaptive.Feedback {
	return adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: d}
}

// assertJittered checks that got is want or at most a tenth more.
func assertJittered(t *testing.T, want, got time.Duration, msg ...any) {
	t.Helper()
	assert.GreaterOrEqual(t, got, want, msg...)
	assert.LessOrEqual(t, got, want+want/10, msg...)
}

func fieldsOf(err error) (names []string) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			names = append(names, fieldsOf(e)...)
		}
		return names
	}
	if field, ok := errors.AsType[*fault.FieldError](err); ok {
		names = append(names, field.Field)
	}
	return names
}

// gauge counts how many calls run at the same time.
type gauge struct{ now, most, total atomic.Int64 }

func (g *gauge) run(d time.Duration) {
	defer g.enter()()
	time.Sleep(d)
}

func (g *gauge) enter() (leave func()) {
	raise(&g.most, g.now.Add(1))
	g.total.Add(1)
	return func() { g.now.Add(-1) }
}

// raise makes most at least n.
func raise(most *atomic.Int64, n int64) {
	for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
	}
}

// burst makes n calls at once, each of which is rejected once, and waits for all.
func burst(ctx context.Context, t *testing.T, l *guard.Guard, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for range n {
		fn, calls := rejectedOnce(time.Second)
		wg.Go(func() {
			assert.NoError(t, do(ctx, l, func(ctx context.Context) error {
				time.Sleep(time.Second)
				return fn(ctx)
			}), "a signal fails no call")
			assert.Equal(t, int64(2), calls.Load())
		})
	}
	wg.Wait()
}

func assertNotCalled(ctx context.Context, t *testing.T, l *guard.Guard, want error) error {
	t.Helper()
	err := do(ctx, l, func(context.Context) error {
		t.Error("called")
		return nil
	})
	assert.ErrorIs(t, err, want)
	return nil
}

// journal keeps the events that it observes.
type journal struct {
	mu     sync.Mutex
	events []event.Event
}

func (j *journal) Observe(e event.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

func (j *journal) kinds() (kinds []event.Kind) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// perMinute is a guard of n tokens a minute.
func perMinute(t *testing.T, n int64) *guard.Guard {
	t.Helper()
	c := capped(20)
	c.Limits.Windows = []throttle.Window{throttle.Sliding(n, time.Minute).Of(throttle.Tokens)}
	return made(t, c)
}

// waits is how long a call of n tokens waits.
func waits(t *testing.T, l *guard.Guard, n int64) time.Duration {
	t.Helper()
	began := time.Now()
	require.NoError(t, l.Do(t.Context(), throttle.Cost{Tokens: n}, ok(0)))
	return time.Since(began)
}

func tokens(n int64) throttle.Cost { return throttle.Cost{Tokens: n} }
