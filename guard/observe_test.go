package guard_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// calls keeps each event.Call.
type calls struct {
	hits atomic.Int64

	mu  sync.Mutex // guards all
	all []event.Call
}

func (c *calls) Observe(e event.Event) {
	if e.Kind == event.LimiterHit {
		c.hits.Add(1)
	}
}

func (c *calls) ObserveCall(call event.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, call)
}

func sleeping(d time.Duration, err error) func(context.Context) error {
	return func(context.Context) error {
		time.Sleep(d)
		return err
	}
}

// Each admission is reported once: how long the call waited, and its outcome.
func TestObserverOfCalls(t *testing.T) {
	one := throttle.Limits{Concurrency: 1}
	for name, c := range map[string]struct {
		run  func(ctx context.Context, l *guard.Guard)
		want []event.Call
	}{
		"calls, one after the other": {func(ctx context.Context, l *guard.Guard) {
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() { _ = l.Do(ctx, throttle.Cost{}, sleeping(time.Second, nil)) })
			}
			wg.Wait()
		}, []event.Call{{Took: time.Second, Outcome: "ok"}, {Queued: time.Second, Took: time.Second, Outcome: "ok"}}},
		"a failure": {func(ctx context.Context, l *guard.Guard) {
			_ = l.Do(ctx, throttle.Cost{}, sleeping(time.Minute, statusError(500)))
		}, []event.Call{{Took: time.Minute, Outcome: "transient"}}},
		"a rejection, and again": {func(ctx context.Context, l *guard.Guard) {
			n := 0
			_ = l.Do(ctx, throttle.Cost{}, func(context.Context) error {
				if n++; n == 1 {
					return &adaptive.RateLimitHit{RetryAfter: 5 * time.Second, Kind: adaptive.KindRequests}
				}
				return nil
			})
		}, []event.Call{{Outcome: "hit"}, {Queued: 5 * time.Second, Outcome: "ok"}}},
		"a deadline that comes before": {func(ctx context.Context, l *guard.Guard) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_ = l.Do(ctx, throttle.Cost{}, sleeping(2*time.Second, nil))
			_ = l.Do(ctx, throttle.Cost{}, sleeping(0, nil))
		}, []event.Call{{Took: 2 * time.Second, Outcome: "ok"}, {Outcome: event.Unadmitted}}},
		"cancelled while it waits": {func(ctx context.Context, l *guard.Guard) {
			p, err := l.Throttle().Acquire(ctx, throttle.Cost{})
			require.NoError(t, err)
			defer p.Release()
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(3*time.Second, func() { cancel(errors.New("enough")) })
			_ = l.Do(ctx, throttle.Cost{}, sleeping(0, nil))
		}, []event.Call{{Queued: 3 * time.Second, Outcome: event.Unadmitted}}},
		"calls that do not wait": {func(ctx context.Context, l *guard.Guard) {
			_ = l.Try(ctx, throttle.Cost{}, func(context.Context) error {
				_ = l.Try(ctx, throttle.Cost{}, nothing)
				time.Sleep(time.Second)
				return nil
			})
		}, []event.Call{{Outcome: event.Unadmitted}, {Took: time.Second, Outcome: "ok"}}},
		"a permit that is taken over": {func(ctx context.Context, l *guard.Guard) {
			_ = l.Do(ctx, throttle.Cost{}, func(ctx context.Context) error {
				time.Sleep(time.Second)
				return l.Do(ctx, throttle.Cost{}, sleeping(time.Second, nil))
			})
		}, []event.Call{{Took: 2 * time.Second, Outcome: "ok"}}},
		"a permit that was waited for, and is taken over": {func(ctx context.Context, l *guard.Guard) {
			p, err := l.Throttle().Acquire(ctx, throttle.Cost{})
			require.NoError(t, err)
			time.AfterFunc(3*time.Second, p.Release)
			_ = l.Do(ctx, throttle.Cost{}, func(ctx context.Context) error {
				return l.Do(ctx, throttle.Cost{}, func(ctx context.Context) error {
					return l.Do(ctx, throttle.Cost{}, sleeping(time.Second, nil))
				})
			})
		}, []event.Call{{Queued: 3 * time.Second, Took: time.Second, Outcome: "ok"}}},
		"a permit that was taken over, rejected and waited for": {func(ctx context.Context, l *guard.Guard) {
			p, err := l.Throttle().Acquire(ctx, throttle.Cost{})
			require.NoError(t, err)
			time.AfterFunc(3*time.Second, p.Release)
			n := 0
			_ = l.Do(ctx, throttle.Cost{}, func(ctx context.Context) error {
				return l.Do(ctx, throttle.Cost{}, func(context.Context) error {
					if n++; n == 1 {
						return &adaptive.RateLimitHit{RetryAfter: 5 * time.Second, Kind: adaptive.KindRequests}
					}
					return nil
				})
			})
		}, []event.Call{{Queued: 3 * time.Second, Outcome: "hit"}, {Queued: 5 * time.Second, Outcome: "ok"}}},
		"a permit that was too small": {func(ctx context.Context, l *guard.Guard) {
			_ = l.Do(ctx, throttle.Cost{Tokens: 1}, func(ctx context.Context) error {
				return l.Do(ctx, throttle.Cost{Tokens: 2}, sleeping(time.Second, nil))
			})
		}, []event.Call{{Outcome: "unsent"}, {Took: time.Second, Outcome: "ok"}}},
		"a panic": {func(ctx context.Context, l *guard.Guard) {
			_ = l.Do(ctx, throttle.Cost{}, func(context.Context) error { panic("fn") })
		}, []event.Call{{Outcome: "transient"}}},
		"abandoned": {func(ctx context.Context, l *guard.Guard) {
			_ = l.Do(ctx, throttle.Cost{}, func(ctx context.Context) error {
				time.Sleep(time.Second)
				abandon(ctx)
				time.Sleep(time.Second)
				return nil
			})
		}, []event.Call{{Took: time.Second, Outcome: "transient"}}},
		"in parts": {func(ctx context.Context, l *guard.Guard) {
			c := l.Begin(throttle.Cost{})
			_, err := c.Admit(ctx)
			require.NoError(t, err)
			time.Sleep(time.Second)
			_, _ = c.End(adaptive.Feedback{Verdict: adaptive.OK})
			_, _ = c.End(adaptive.Feedback{Verdict: adaptive.OK})
		}, []event.Call{{Took: time.Second, Outcome: "ok"}}},
	} {
		for _, by := range []string{"the context", "the guard", "both"} {
			t.Run(name+", observed by "+by, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, to := c, &calls{}
					ctx, p := t.Context(), guard.Policy{Name: "l", Limits: one, Law: adaptive.AIMD{Initial: 1}}
					if by != "the guard" {
						ctx = event.With(ctx, event.Tee(event.Func(func(event.Event) {}), to))
					}
					if by != "the context" {
						p.Observer = to
					}
					c.run(ctx, made(t, p))
					for i := range c.want {
						c.want[i].Limiter = "l"
					}
					for i := range to.all { // what a gate adds to Retry-After is drawn at random
						to.all[i].Queued = to.all[i].Queued.Truncate(time.Second)
					}
					assert.Equal(t, c.want, to.all)
					if name == "a rejection, and again" {
						assert.Equal(t, int64(1), to.hits.Load())
					}
				})
			})
		}
	}
}
