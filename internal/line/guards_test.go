package line_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// A call that the provider rejected goes before all that wait, and no other takes
// its turn.
func TestAResendIsAheadOfTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		g := made(t, one())
		calls := 0
		ticket := c.do(t.Context(), g, "resent", batch("b"), func(context.Context) error {
			if calls++; calls == 1 {
				time.Sleep(time.Second)
				return &adaptive.RateLimitHit{RetryAfter: 30 * time.Second}
			}
			time.Sleep(time.Second)
			return nil
		})
		c.do(t.Context(), g, "waits", batch("b"), nothing)
		time.Sleep(2 * time.Second)
		c.do(t.Context(), g, "inter", interactive("i"), nothing)
		assert.Equal(t, []string{"resent", "resent", "inter", "waits"}, c.admitted())
		assert.Equal(t, 2, ticket.Attempts())
		assert.GreaterOrEqual(t, ticket.Waited(), 30*time.Second)
		assert.Less(t, ticket.Waited(), 34*time.Second)
	})
}

// A wait after a rate-limit response is that of the request: it may be longer than a
// guard allows without a line, and it ends with what is left of MaxWait.
func TestAWaitAfterARejection(t *testing.T) {
	reject := func(calls *int) func(context.Context) error {
		return func(context.Context) error {
			time.Sleep(time.Hour)
			if *calls++; *calls == 1 {
				return &adaptive.RateLimitHit{RetryAfter: time.Second}
			}
			return nil
		}
	}
	limits := guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, 80*time.Minute)}}}
	for most, admitted := range map[time.Duration]bool{30 * time.Minute: true, 15 * time.Minute: false} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, line.Config{MaxWait: most})
			g := made(t, limits)
			calls := 0
			began := time.Now()
			ticket := c.do(t.Context(), g, "rejected", batch("b"), reject(&calls))
			c.wg.Wait()
			if admitted {
				require.NoError(t, c.err("rejected"))
				assert.Equal(t, 2, ticket.Attempts())
				return
			}
			late, ok := errors.AsType[*line.WaitError](c.err("rejected"))
			require.True(t, ok, c.err("rejected"))
			assert.Equal(t, most, late.Waited)
			assert.Equal(t, most, ticket.Waited())
			assert.Equal(t, time.Hour+most, time.Since(began))
			assert.GreaterOrEqual(t, late.RetryAfter, 5*time.Minute)
			assert.Zero(t, g.Stats().Waiting)
		})
	}
}

// The waits of all attempts count, those in line too.
func TestAllAttemptsWaitForMaxWaitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{MaxWait: 30 * time.Second})
		g := made(t, guard.Policy{Limits: one().Limits, Retry: &retry.Policy{NoJitter: true, Initial: time.Second}})
		c.hold(g, 20*time.Second)
		ticket := c.do(t.Context(), g, "fails", batch("b"), func(context.Context) error {
			time.Sleep(time.Second)
			return errors.New("failed")
		})
		c.do(t.Context(), g, "second", batch("b"), sleeps(time.Minute))
		c.wg.Wait()
		late, ok := errors.AsType[*line.WaitError](c.err("fails"))
		require.True(t, ok, c.err("fails"))
		assert.Equal(t, 30*time.Second, late.Waited)
		assert.Equal(t, 30*time.Second, ticket.Waited())
		assert.Equal(t, 1, ticket.Attempts())
	})
}

// A call that has failed waits in line for its next attempt, which finds room there.
func TestAnotherAttemptWaitsInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{MaxQueue: 2})
		g := made(t, guard.Policy{Limits: one().Limits, Retry: &retry.Policy{Initial: time.Second, NoJitter: true}})
		failed := false
		ticket := c.do(t.Context(), g, "fails", batch("b"), func(context.Context) error {
			if !failed {
				failed = true
				time.Sleep(10 * time.Second)
				return errors.New("failed")
			}
			return nil
		})
		c.do(t.Context(), g, "first", batch("b"), sleeps(10*time.Second))
		c.do(t.Context(), g, "second", batch("b"), sleeps(10*time.Second))
		time.Sleep(10*time.Second + time.Millisecond)
		c.do(t.Context(), g, "third", batch("b"), sleeps(10*time.Second))
		assert.Equal(t, []string{"fails", "first", "second", "third", "fails"}, c.admitted())
		assert.Equal(t, 2, ticket.Attempts())
		assert.Equal(t, 29*time.Second, ticket.Waited(), "the delay before the attempt is not a wait")
	})
}

func TestAnAttemptThatABreakerStopsDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		g := made(t, guard.Policy{Limits: one().Limits, Breaker: &breaker.Config{Failures: 1, Open: time.Hour}})
		c.do(t.Context(), g, "fails", batch("b"), func(context.Context) error { return errors.New("failed") })
		ticket := c.do(t.Context(), g, "stopped", batch("b"), nothing)
		require.ErrorAs(t, c.err("stopped"), new(*breaker.OpenError))
		assert.Zero(t, ticket.Attempts())
		c.wg.Wait()
	})
}

// moody is a controller with one slot that ends the goroutine or panics on request.
type moody struct {
	adaptive.State

	mood *atomic.Int32
}

func (m moody) Start(now time.Time, seed uint64) (adaptive.State, error) {
	s, err := adaptive.AIMD{Initial: 1, Max: 1}.Start(now, seed)
	return moody{s, m.mood}, err
}

func (m moody) Admit(now time.Time, c throttle.Cost, inFlight int) time.Duration {
	if m.mood.Load() == 1 {
		panic("moody")
	}
	return m.State.Admit(now, c, inFlight)
}

func (m moody) OnSend(now time.Time, s throttle.Sent) {
	if m.mood.Load() == 2 {
		runtime.Goexit()
	}
	m.State.OnSend(now, s)
}

// The turn of a call that ends in the middle of its admission is not lost.
func TestATurnThatIsNotFinished(t *testing.T) {
	for mood := range int32(2) {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, line.Config{})
			law := moody{mood: new(atomic.Int32)}
			g := made(t, guard.Policy{Law: law})
			if mood == 0 {
				c.hold(g, time.Minute)
				c.do(t.Context(), g, "a", batch("x"), nothing)
			}
			law.mood.Store(mood + 1)
			c.do(t.Context(), g, "ends", interactive("x"), nothing)
			law.mood.Store(0)
			c.do(t.Context(), g, "b", batch("x"), nothing)
			assert.Subset(t, c.admitted(), []string{"b"})
			stats, ran := c.lines.Stats()[0], 0
			for _, client := range stats.Clients {
				ran += int(client.Admitted)
			}
			assert.Zero(t, stats.Waiting)
			assert.Len(t, c.order, ran)
			assert.Zero(t, g.Stats().InFlight)
		})
	}
}

// So is that of one that asks while others wait.
func TestATurnThatEndsWhileOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		law := moody{mood: new(atomic.Int32)}
		g := made(t, guard.Policy{Law: law})
		g.Pause(time.Now().Add(time.Minute))
		c.do(t.Context(), g, "first", batch("x"), func(context.Context) error {
			law.mood.Store(2)
			return nil
		})
		c.do(t.Context(), g, "ends", batch("x"), nothing)
		c.do(t.Context(), g, "last", batch("x"), nothing)
		assert.Subset(t, c.admitted(), []string{"first", "last"}, "first may be the one that admits ends, and then it is the one that ends")
		assert.Equal(t, time.Minute, c.wait("last"))
		assert.Zero(t, g.Stats().InFlight)
	})
}

// A call of several guards waits in the line of the first.
func TestGuardsWithinOthersAndJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		host := made(t, guard.Policy{Name: "host", Limits: throttle.Limits{Concurrency: 2}})
		a := made(t, guard.Policy{Name: "a", Limits: one().Limits, Within: []*guard.Guard{host}})
		b := made(t, guard.Policy{Name: "b", Limits: one().Limits})
		joined := guard.Join(b, host)
		c.do(t.Context(), a, "a0", batch("x"), sleeps(time.Second))
		c.do(t.Context(), joined, "b0", batch("x"), sleeps(2*time.Second))
		for i := range 3 {
			c.do(t.Context(), a, fmt.Sprint("a", i+1), batch("x"), sleeps(time.Second))
			c.do(t.Context(), joined, fmt.Sprint("b", i+1), batch("x"), sleeps(2*time.Second))
		}
		c.do(t.Context(), a, "inter", interactive("x"), sleeps(time.Second))
		assert.Equal(t, 2, host.Stats().InFlight)
		order := c.admitted()
		assert.Equal(t, "inter", order[2])
		assert.Len(t, order, 9)
		assert.Zero(t, host.Stats().InFlight)
		assert.Zero(t, a.Stats().Abandoned)
	})
}

// A call inside of another one does not wait in the line behind those that wait
// for the call around it.
func TestACallInsideOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		outer := made(t, one())
		inner := made(t, guard.Policy{Name: "inner", Limits: throttle.Limits{Concurrency: 2}})
		begin := make(chan struct{})
		c.do(t.Context(), outer, "outer", batch("x"), func(ctx context.Context) error {
			<-begin
			for _, g := range []*guard.Guard{outer, inner, guard.Join(outer, inner)} {
				assert.NoError(t, g.Do(ctx, throttle.Cost{}, nothing))
				own, _ := c.lines.With(ctx, batch("x"))
				assert.NoError(t, g.Do(own, throttle.Cost{}, nothing))
			}
			return nil
		})
		c.do(t.Context(), outer, "waits", batch("x"), nothing)
		close(begin)
		assert.Equal(t, []string{"outer", "waits"}, c.admitted())
	})
}

// The line of b waits for the call, which makes a call on b.
func TestALineThatWaitsForTheCallAround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		a, b := made(t, guard.Policy{Name: "a", Limits: one().Limits}), made(t, guard.Policy{Name: "b", Limits: one().Limits})
		c.do(t.Context(), a, "around", batch("x"), func(ctx context.Context) error {
			time.Sleep(time.Second)
			ctx, _ = c.lines.With(ctx, batch("x"))
			return b.Do(ctx, throttle.Cost{}, nothing)
		})
		c.do(t.Context(), guard.Join(b, a), "both", batch("x"), nothing)
		assert.Equal(t, []string{"around", "both"}, c.admitted())
		assert.NoError(t, c.err("around"))
		assert.Equal(t, time.Second, c.wait("both"))
	})
}

// slow is a store with a first Take that does not return before it is released.
type slow struct {
	quota.Store

	takes   atomic.Int32
	release chan struct{}
}

func (s *slow) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	if s.takes.Add(1) == 1 {
		<-s.release
	}
	return s.Store.Take(ctx, r)
}

func TestAStoreThatHangsHoldsNoOtherCallForLong(t *testing.T) {
	for name, want := range map[string]time.Duration{"MaxWait": 61 * time.Second, "the context": 11 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, line.Config{MaxWait: time.Minute})
				store := &slow{Store: quota.NewMemoryStore(nil), release: make(chan struct{})}
				g := made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 2}, Store: store})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				hangs := c.do(ctx, g, "hangs", batch("x"), nothing)
				if name != "MaxWait" {
					time.AfterFunc(10*time.Second, cancel)
				}
				time.Sleep(want - 10*time.Second)
				c.do(t.Context(), g, "waits", batch("x"), nothing)
				time.Sleep(20 * time.Second)
				synctest.Wait()
				assert.Equal(t, []string{"waits"}, c.order)
				assert.Equal(t, 10*time.Second, c.wait("waits"))
				close(store.release)
				assert.Equal(t, []string{"waits"}, c.admitted())
				require.Error(t, c.err("hangs"))
				assert.Zero(t, hangs.Attempts())
				assert.Zero(t, g.Stats().InFlight)
				c.do(t.Context(), g, "after", batch("x"), nothing)
				assert.Equal(t, []string{"waits", "after"}, c.admitted())
			})
		})
	}
}

// One that hangs in a store when it is outranked gives up its turn a second
// later, and waits as long as any other when the store has returned.
func TestACallThatIsOutrankedWhileItHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{MaxWait: time.Minute})
		store := &slow{Store: quota.NewMemoryStore(nil), release: make(chan struct{})}
		g := made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 2}, Store: store})
		c.do(t.Context(), g, "hangs", batch("x"), nothing)
		time.Sleep(10 * time.Second)
		first := c.do(t.Context(), g, "first", interactive("x"), sleeps(time.Hour))
		second := c.do(t.Context(), g, "second", interactive("x"), sleeps(time.Hour))
		c.do(t.Context(), g, "later", batch("x"), nothing)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, 1, first.Attempts())
		assert.Equal(t, time.Second, first.Waited())
		assert.Zero(t, second.Attempts(), "the other slot is that of the call that hangs")
		close(store.release)
		synctest.Wait()
		assert.Equal(t, 1, second.Attempts())
		assert.Equal(t, 2, c.lines.Stats()[0].Waiting)
		assert.Equal(t, 11*time.Second, c.lines.Stats()[0].Oldest)
		time.Sleep(49 * time.Second)
		synctest.Wait()
		assert.ErrorAs(t, c.err("hangs"), new(*line.WaitError))
		assert.Equal(t, time.Minute, c.wait("hangs"))
		assert.NoError(t, c.err("later"))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.ErrorAs(t, c.err("later"), new(*line.WaitError))
		c.wg.Wait()
	})
}

func TestAStoreThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		store := quota.NewMemoryStore(nil)
		p := perSecond(0.1)
		p.Store = store
		g, other := made(t, p), made(t, p) // of another process
		require.NoError(t, other.Do(t.Context(), throttle.Cost{}, nothing))
		for i := range 3 {
			c.do(t.Context(), g, fmt.Sprint("b", i), batch("b"), nothing)
		}
		c.do(t.Context(), g, "i", interactive("i"), nothing)
		assert.Equal(t, []string{"i", "b0", "b1", "b2"}, c.admitted())
		assert.Equal(t, 10*time.Second, c.wait("i"))
		assert.Equal(t, 40*time.Second, c.wait("b2"))
	})
}
