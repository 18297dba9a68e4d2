package guard_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

var errDown = errors.New("connection refused")

// scripted is a store with replaceable methods, which counts the calls of them.
type scripted struct {
	quota.Store

	take    func(ctx context.Context, r quota.Request) (quota.Grant, error)
	end     func(actual []throttle.Cost) error
	takes   atomic.Int64
	ends    atomic.Int64
	cancels atomic.Int64
	renewed atomic.Int64
	asking  atomic.Int64
	most    atomic.Int64 // that asked at once
}

// newScripted hides that a MemoryStore is a Waker.
func newScripted() *scripted {
	return &scripted{Store: quota.NewMemoryStore(nil)}
}

func (s *scripted) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	s.takes.Add(1)
	raise(&s.most, s.asking.Add(1))
	defer s.asking.Add(-1)
	if s.take != nil {
		return s.take(ctx, r)
	}
	return s.Store.Take(ctx, r)
}

func (s *scripted) End(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
	s.ends.Add(1)
	if s.end != nil {
		return s.end(actual)
	}
	return s.Store.End(ctx, t, actual)
}

func (s *scripted) Cancel(ctx context.Context, t quota.Ticket) error {
	s.cancels.Add(1)
	return s.Store.Cancel(ctx, t)
}

func (s *scripted) Renew(ctx context.Context, t []quota.Ticket, d time.Duration) ([]quota.Ticket, error) {
	s.renewed.Add(1)
	return s.Store.Renew(ctx, t, d)
}

func slots(n int) throttle.Limits { return throttle.Limits{Concurrency: n} }

func takes(d time.Duration) func(context.Context) error {
	return func(context.Context) error { time.Sleep(d); return nil }
}

// idle checks that no guard holds anything.
func idle(t *testing.T, guards ...*guard.Guard) {
	t.Helper()
	for _, g := range guards {
		assert.Zero(t, g.Stats().InFlight+g.Stats().Waiting, g.Name())
	}
}

func TestGuardsOfOneNameKeepTheLimitsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := quota.NewMemoryStore(nil)
		limits := throttle.Limits{Concurrency: 4, Windows: []throttle.Window{
			throttle.Sliding(5, time.Second), throttle.Sliding(100, 10*time.Second).Of(throttle.Tokens),
		}}
		var guards []*guard.Guard
		for range 2 {
			guards = append(guards, made(t, guard.Policy{Name: "api", Limits: limits, Store: store}))
		}
		var mu sync.Mutex
		var calls []oracle.Call
		var wg sync.WaitGroup
		begin := time.Now()
		for i := range 200 {
			wg.Go(func() {
				time.Sleep(time.Duration(i%7) * 100 * time.Millisecond)
				cost := throttle.Cost{Tokens: int64(1 + i%3)}
				assert.NoError(t, guards[i%2].Do(t.Context(), cost, func(context.Context) error {
					one := oracle.Call{At: time.Since(begin), Weights: oracle.Weights{1, cost.Tokens}}
					time.Sleep(time.Duration(1+i*37%900) * time.Millisecond)
					one.Done = time.Since(begin)
					mu.Lock()
					defer mu.Unlock()
					calls = append(calls, one)
					return nil
				}))
			})
		}
		wg.Wait()
		require.NoError(t, oracle.Judge(oracle.Timeline(calls), oracle.Sliding(0, 5, time.Second),
			oracle.Sliding(1, 100, 10*time.Second), oracle.Concurrency(4)).Err())
		assert.Less(t, time.Since(begin), 46*time.Second, "200 calls at 5/s")
		assert.EqualValues(t, 200, guards[0].Stats().Admitted+guards[1].Stats().Admitted)
		idle(t, guards...)
	})
}

func TestOneTakeForAllLayers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newScripted()
		service := made(t, guard.Policy{Name: "service", Limits: rate(throttle.Sliding(1, time.Minute)), Store: store})
		mid := made(t, guard.Policy{Name: "team", Limits: slots(3), Within: []*guard.Guard{service}})
		host := made(t, guard.Policy{Name: "host", Limits: slots(2), Within: []*guard.Guard{mid}, Store: store})
		elsewhere := made(t, guard.Policy{Name: "service", Limits: rate(throttle.Sliding(1, time.Minute)), Store: store})
		require.NoError(t, elsewhere.Do(t.Context(), throttle.Cost{}, nothing))
		store.takes.Store(0)
		var asked []string
		store.take = func(ctx context.Context, r quota.Request) (quota.Grant, error) {
			for _, d := range r.Demands {
				asked = append(asked, d.Key)
			}
			return store.Store.Take(ctx, r)
		}
		begin := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { assert.NoError(t, host.Do(t.Context(), throttle.Cost{}, nothing)) })
		time.Sleep(time.Second)
		assert.Zero(t, host.Stats().InFlight+mid.Stats().InFlight+service.Stats().InFlight, "it waits and holds nothing")
		assert.Zero(t, host.Stats().Admitted+mid.Stats().Admitted)
		assert.Equal(t, 1, service.Stats().Waiting, "where the store found no room")
		assert.Equal(t, throttle.Bound{Kind: throttle.BoundByStore, Window: throttle.Sliding(1, time.Minute), Wait: 59 * time.Second}, service.Stats().Bound)
		wg.Wait()
		assert.Equal(t, time.Minute, time.Since(begin))
		assert.EqualValues(t, 2, store.takes.Load(), "a refusal and a grant")
		assert.Equal(t, []string{"host", "service", "host", "service"}, asked)
		idle(t, host, mid, service)
	})
}

func TestWaitingCallsOfAStoreAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newScripted()
		store.take = func(ctx context.Context, r quota.Request) (quota.Grant, error) {
			time.Sleep(10 * time.Millisecond)
			r.Demands[0].Limits = rate(throttle.Sliding(1, time.Second)) // less than fits here
			return store.Store.Take(ctx, r)
		}
		g := made(t, guard.Policy{Name: "api", Limits: rate(throttle.Sliding(50, time.Second)), Store: store})
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		for i := range 30 {
			time.Sleep(time.Millisecond)
			wg.Go(func() {
				assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(context.Context) error {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, i)
					return nil
				}))
			})
		}
		time.Sleep(100 * time.Millisecond)
		store.most.Store(0)
		wg.Wait()
		assert.True(t, slices.IsSorted(order), "%v", order)
		assert.LessOrEqual(t, store.most.Load(), int64(2), "a refusal leaves one that asks")
		assert.Less(t, store.takes.Load(), int64(120))
	})
}

func TestTheStoreHearsTheActualCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newScripted()
		minute := rate(throttle.Sliding(100, time.Minute).Of(throttle.Tokens))
		g := made(t, guard.Policy{Name: "api", Limits: minute, Store: store, Breaker: &breaker.Config{Failures: 1, Open: time.Hour}})
		call := func(used int64, err error) error {
			return g.Do(t.Context(), throttle.Cost{Tokens: 90}, func(ctx context.Context) error {
				guard.Use(ctx, throttle.Cost{Tokens: used})
				return err
			})
		}
		require.NoError(t, call(10, nil))
		assert.EqualValues(t, 1, store.ends.Load())
		require.NoError(t, call(90, nil))
		assert.EqualValues(t, 1, store.ends.Load(), "what cost as much as was reserved needs no end")
		g = made(t, guard.Policy{Name: "other", Limits: minute, Store: store, Breaker: &breaker.Config{Failures: 1, Open: time.Hour}})
		require.ErrorIs(t, call(1, errDown), errDown)
		require.ErrorAs(t, call(1, nil), new(*breaker.OpenError))
		assert.EqualValues(t, 1, store.cancels.Load(), "it was not sent")
		left, err := store.Store.Take(t.Context(), quota.Request{Uses: true, Peek: true, Demands: []quota.Demand{{Key: "other", Limits: minute}}})
		require.NoError(t, err)
		assert.EqualValues(t, 1, left.Uses[0][0].Spent)
		idle(t, g)
	})
}

func TestLeasesLastAsLongAsTheCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newScripted()
		a := made(t, guard.Policy{Name: "api", Limits: slots(1), Store: store})
		b := made(t, guard.Policy{Name: "api", Limits: slots(1), Store: store})
		begin := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { assert.NoError(t, a.Do(t.Context(), throttle.Cost{}, takes(95*time.Second))) })
		synctest.Wait()
		require.NoError(t, b.Do(t.Context(), throttle.Cost{}, nothing))
		assert.GreaterOrEqual(t, time.Since(begin), 95*time.Second)
		assert.LessOrEqual(t, time.Since(begin), 95*time.Second+25*time.Millisecond)
		wg.Wait()
		assert.EqualValues(t, 9, store.renewed.Load(), "every 10 s")
		time.Sleep(time.Minute)
		assert.EqualValues(t, 9, store.renewed.Load(), "no lease, no renewal")
		assert.Zero(t, a.Stats().StoreErrors)

		require.NoError(t, a.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
			return store.Store.(quota.Inspector).Forget(ctx, "api")
		}))
		assert.EqualValues(t, 1, a.Stats().StoreErrors, "the lease was lost")
	})
}

func TestAStoreThatFails(t *testing.T) {
	for name, test := range map[string]struct {
		take func(ctx context.Context, r quota.Request) (quota.Grant, error)
		as   func(t *testing.T, err error)
	}{
		"with an error": {
			func(context.Context, quota.Request) (quota.Grant, error) { return quota.Grant{}, errDown },
			func(t *testing.T, err error) {
				t.Helper()
				require.ErrorIs(t, err, errDown)
				assert.EqualError(t, err, `guard "api": its store *guard_test.scripted: connection refused`)
			},
		},
		"with a panic": {
			func(context.Context, quota.Request) (quota.Grant, error) { panic("oh") },
			func(t *testing.T, err error) { t.Helper(); require.ErrorAs(t, err, new(*fault.PanicError)) },
		},
		"by not answering": {
			func(ctx context.Context, _ quota.Request) (quota.Grant, error) {
				<-ctx.Done()
				return quota.Grant{}, context.Cause(ctx)
			},
			func(t *testing.T, err error) {
				t.Helper()
				assert.ErrorContains(t, err, `guard "api": its store *guard_test.scripted: no answer within 5s`)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newScripted()
				store.take = test.take
				g := made(t, guard.Policy{Name: "api", Limits: slots(1), Store: store})
				for range 40 {
					go func() { _ = g.Do(context.Background(), throttle.Cost{}, nothing) }()
				}
				test.as(t, g.Do(t.Context(), throttle.Cost{}, nothing))
				time.Sleep(5 * time.Minute)
				test.as(t, g.Try(t.Context(), throttle.Cost{}, nothing))
				idle(t, g)
				assert.Zero(t, g.Stats().Admitted)
				store.take = nil
				require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
				store.end = func([]throttle.Cost) error { return errDown }
				require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing), "the answer is there")
				time.Sleep(20 * time.Minute) // longer than the end of the call is sent again
				assert.EqualValues(t, 1, g.Stats().StoreErrors)
				require.NoError(t, g.Reset())
				assert.Zero(t, g.Stats().StoreErrors)
			})
		})
	}
}

func TestAContextThatEndsWhileTheStoreIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newScripted()
		store.take = func(ctx context.Context, r quota.Request) (quota.Grant, error) {
			time.Sleep(3 * time.Second) // it does not look at its context
			return store.Store.Take(context.WithoutCancel(ctx), r)
		}
		g := made(t, guard.Policy{Name: "api", Limits: slots(1), Store: store})
		hasty := made(t, guard.Policy{Name: "api", Limits: slots(1), Store: store, MaxWait: time.Second})
		require.ErrorIs(t, hasty.Do(t.Context(), throttle.Cost{}, nothing), throttle.ErrLimited, "MaxWait is over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errDown)
		defer cancel()
		require.ErrorIs(t, g.Do(ctx, throttle.Cost{}, nothing), errDown)
		assert.EqualValues(t, 2, store.cancels.Load())
		store.take = nil
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
		idle(t, g)
	})
}

func TestAPauseWhileTheStoreIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newScripted()
		store.take = func(ctx context.Context, r quota.Request) (quota.Grant, error) {
			time.Sleep(time.Second)
			return store.Store.Take(ctx, r)
		}
		g := made(t, guard.Policy{Name: "api", Limits: slots(1), Store: store})
		begin := time.Now()
		time.AfterFunc(time.Second/2, func() { g.Pause(begin.Add(time.Minute)) })
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
		assert.Equal(t, 61*time.Second, time.Since(begin))
		time.AfterFunc(time.Second/2, func() { g.Close(errDown) })
		require.ErrorIs(t, g.Do(t.Context(), throttle.Cost{}, nothing), errDown)
		g.Reopen()
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
		idle(t, g)
	})
}

func TestARetryAfterPausesOtherProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := quota.NewMemoryStore(nil)
		a := made(t, guard.Policy{Name: "api", Store: store})
		b := made(t, guard.Policy{Name: "api", Store: store})
		user := made(t, guard.Policy{Name: "user", Within: []*guard.Guard{a}, Limits: slots(1)})
		begin, calls := time.Now(), 0
		var wg sync.WaitGroup
		wg.Go(func() {
			assert.NoError(t, user.Do(t.Context(), throttle.Cost{}, func(context.Context) error {
				if calls++; calls == 1 {
					return &adaptive.RateLimitHit{RetryAfter: 5 * time.Second}
				}
				return nil
			}))
		})
		synctest.Wait()
		err := b.Try(t.Context(), throttle.Cost{}, nothing)
		limited, ok := errors.AsType[*throttle.LimitedError](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, 5*time.Second, limited.RetryAfter)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		require.ErrorAs(t, b.Do(ctx, throttle.Cost{}, nothing), new(*throttle.DeadlineError))
		assert.Zero(t, time.Since(begin))
		require.NoError(t, b.Do(t.Context(), throttle.Cost{}, nothing))
		assert.Equal(t, 5*time.Second, time.Since(begin))
		wg.Wait()
		idle(t, a, b, user)
	})
}

func TestAStoreThatCannotBeUsed(t *testing.T) {
	one, two := quota.NewMemoryStore(nil), quota.NewMemoryStore(nil)
	problem := func(p guard.Policy) string {
		_, err := guard.New(p)
		require.ErrorAs(t, err, new(*fault.FieldError))
		require.EqualError(t, p.Validate(), err.Error())
		return err.Error()
	}
	a, b := made(t, guard.Policy{Name: "a", Store: one}), made(t, guard.Policy{Name: "b", Store: two})
	plain := made(t, guard.Policy{Name: "plain"})
	different := `guard "a" and guard "b" have different stores: a call can take from one store only`
	assert.Equal(t, `guard "c": Within[2]: `+different, problem(guard.Policy{Name: "c", Within: []*guard.Guard{a, plain, b}}))
	assert.Equal(t, `guard "b": Within[0]: guard "b" and guard "a" have different stores: a call can take from one store only`,
		problem(guard.Policy{Name: "b", Store: two, Within: []*guard.Guard{a}}))
	assert.Contains(t, problem(guard.Policy{Name: "a", Store: one, Within: []*guard.Guard{a}}), `another guard "a" have the same store`)
	assert.Equal(t, `guard "guard": Name: it is empty: it is the key in Store`, problem(guard.Policy{Store: one}))
	assert.Contains(t, problem(guard.Policy{Name: "a", Store: (*pointed)(nil)}), "Store: it is a nil pointer")
	assert.Contains(t, problem(guard.Policy{Name: "a", Store: uncomparable{}}), "Store: a guard_test.uncomparable cannot be compared")

	joined := guard.Join(a, plain, b)
	for _, err := range []error{
		joined.Do(t.Context(), throttle.Cost{}, nothing), joined.Try(t.Context(), throttle.Cost{}, nothing),
		a.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error { return joined.Do(ctx, throttle.Cost{}, nothing) }),
	} {
		field, ok := errors.AsType[*fault.FieldError](err)
		require.True(t, ok)
		assert.Equal(t, different, field.Problem)
	}
	assert.Equal(t, `guard "c": Within[0]: `+different, problem(guard.Policy{Name: "c", Within: []*guard.Guard{joined}}))
	require.NoError(t, guard.Join(a, plain).Do(t.Context(), throttle.Cost{}, nothing))
	require.Error(t, a.Set(guard.Policy{Store: two}))
	require.NoError(t, a.Set(guard.Policy{Limits: slots(1)}))
	assert.Equal(t, quota.Store(one), a.Policy().Store)
	assert.Nil(t, plain.Policy().Store)
}

// pointed is a store by its pointer.
type pointed struct{ quota.Store }

type uncomparable struct {
	quota.Store
	_ []int
}

func TestNestedCallsUseOneTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newScripted()
		tokens := throttle.Limits{Concurrency: 1, Windows: []throttle.Window{throttle.Sliding(100, time.Hour).Of(throttle.Tokens)}}
		service := made(t, guard.Policy{Name: "service", Limits: tokens, Store: store})
		host := made(t, guard.Policy{Name: "host", Limits: slots(1), Store: store, Within: []*guard.Guard{service}})
		costing := func(n int64) throttle.Cost { return throttle.Cost{Tokens: n} }
		spent := func() int64 {
			g, err := store.Store.Take(t.Context(), quota.Request{Uses: true, Peek: true, Demands: []quota.Demand{{Key: "service", Limits: tokens}}})
			require.NoError(t, err)
			require.Zero(t, g.Wait, "the slots are free")
			return g.Uses[0][0].Spent
		}
		nested := func(outer, inner *guard.Guard, a, b int64, f func(context.Context) error) error {
			return outer.Do(t.Context(), costing(a), func(ctx context.Context) error {
				return inner.Do(ctx, costing(b), f)
			})
		}
		require.NoError(t, nested(service, service, 10, 10, nothing))
		assert.EqualValues(t, 1, store.takes.Load(), "the call inside uses the ticket")
		assert.EqualValues(t, 10, spent())
		require.NoError(t, nested(service, host, 10, 5, func(ctx context.Context) error {
			guard.Use(ctx, costing(4))
			return nil
		}))
		assert.EqualValues(t, 3, store.takes.Load(), "of the service, and of the host")
		assert.EqualValues(t, 14, spent())
		require.NoError(t, nested(service, service, 5, 20, nothing))
		assert.EqualValues(t, 34, spent(), "a larger call inside takes anew")
		require.NoError(t, nested(host, service, 5, 20, nothing))
		assert.EqualValues(t, 54, spent(), "or settles the ticket that it shares")
		require.Error(t, nested(host, service, 5, 200, nothing))
		assert.EqualValues(t, 59, spent())
		idle(t, service, host)
		assert.Zero(t, service.Stats().StoreErrors+host.Stats().StoreErrors)

		// The call inside is not admitted: what it has taken over goes back.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, service.Do(t.Context(), costing(1), func(inside context.Context) error {
			busy := made(t, guard.Policy{Name: "busy", Limits: slots(1), Within: []*guard.Guard{service}})
			assert.NoError(t, busy.Throttle().Wait(ctx, throttle.Cost{}))
			_, err := busy.Throttle().Acquire(ctx, throttle.Cost{})
			assert.NoError(t, err)
			late, end := context.WithDeadlineCause(inside, time.Now().Add(time.Second), errDown)
			defer end()
			assert.ErrorIs(t, busy.Do(late, throttle.Cost{}, nothing), errDown)
			return nil
		}))
		assert.EqualValues(t, 60, spent())
		idle(t, service)
	})
}

func TestTryAsksTheStoreOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newScripted()
		limits := rate(throttle.Sliding(2, time.Minute))
		a := made(t, guard.Policy{Name: "api", Limits: limits, Store: store})
		b := made(t, guard.Policy{Name: "api", Limits: limits, Store: store})
		require.NoError(t, a.Try(t.Context(), throttle.Cost{}, nothing))
		require.NoError(t, a.Try(t.Context(), throttle.Cost{}, nothing))
		time.Sleep(time.Second)
		for i := range 3 {
			err := b.Try(t.Context(), throttle.Cost{}, nothing)
			limited, ok := errors.AsType[*throttle.LimitedError](err)
			require.True(t, ok, "%v", err)
			assert.Equal(t, 59*time.Second, limited.RetryAfter)
			assert.Equal(t, throttle.Bound{Kind: throttle.BoundByStore, Window: throttle.Sliding(2, time.Minute), Wait: 59 * time.Second}, limited.Bound)
			assert.EqualValues(t, 3+i, store.takes.Load())
		}
		assert.EqualValues(t, 3, b.Stats().Refused)
		assert.Zero(t, b.Stats().Admitted)

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		err := b.Do(ctx, throttle.Cost{}, nothing)
		late, ok := errors.AsType[*throttle.DeadlineError](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, throttle.DeadlineError{Limiter: "api", Wait: 59 * time.Second, Left: 10 * time.Second}, *late)
		assert.Zero(t, time.Since(begin))
		waiting := made(t, guard.Policy{Name: "api", Limits: limits, Store: store, MaxWait: 3 * time.Second})
		require.ErrorIs(t, waiting.Do(t.Context(), throttle.Cost{}, nothing), throttle.ErrLimited)
		assert.Equal(t, 3*time.Second, time.Since(begin))
		idle(t, a, b, waiting)
	})
}

// What another process gives back, or other limits, end the wait.
func TestNewsEndAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := quota.NewMemoryStore(nil)
		hourly := rate(throttle.Sliding(100, time.Hour).Of(throttle.Tokens))
		a := made(t, guard.Policy{Name: "api", Limits: hourly, Store: store})
		b := made(t, guard.Policy{Name: "api", Limits: hourly, Store: store})
		c := made(t, guard.Policy{Name: "api", Limits: rate(throttle.Sliding(200, time.Hour).Of(throttle.Tokens)), Store: newScripted()})
		cost := throttle.Cost{Tokens: 100}
		begin := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			assert.NoError(t, a.Do(t.Context(), cost, func(ctx context.Context) error {
				time.Sleep(time.Second)
				guard.Use(ctx, throttle.Cost{Tokens: 1})
				return nil
			}))
		})
		synctest.Wait()
		small := throttle.Cost{Tokens: 99}
		require.NoError(t, b.Do(t.Context(), small, nothing))
		assert.Equal(t, time.Second, time.Since(begin))
		wg.Wait()

		require.NoError(t, c.Do(t.Context(), cost, nothing))
		require.NoError(t, c.Set(guard.Policy{Limits: hourly}))
		wg.Go(func() { assert.NoError(t, c.Do(t.Context(), cost, nothing)) })
		synctest.Wait()
		require.NoError(t, c.Set(guard.Policy{Limits: rate(throttle.Sliding(300, time.Hour).Of(throttle.Tokens))}))
		wg.Wait()
		assert.Equal(t, time.Second, time.Since(begin))
		idle(t, a, b, c)
	})
}

// A refusal holds only what costs as much: a smaller call asks.
func TestASmallerCallAsksAfterALargerOneWasRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newScripted()
		hourly := rate(throttle.Sliding(100, time.Hour).Of(throttle.Tokens))
		a := made(t, guard.Policy{Name: "api", Limits: hourly, Store: store})
		b := made(t, guard.Policy{Name: "api", Limits: hourly, Store: store})
		require.NoError(t, a.Do(t.Context(), throttle.Cost{Tokens: 50}, nothing))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, b.Do(ctx, throttle.Cost{Tokens: 60}, nothing), context.DeadlineExceeded)
		require.NoError(t, b.Do(t.Context(), throttle.Cost{Tokens: 40}, nothing))
		assert.EqualValues(t, 1, b.Stats().Admitted)
		idle(t, a, b)
	})
}

// A store may admit a call and return nothing else, for example because its data
// cannot be reached and it is configured to admit all calls.
func TestAStoreThatAdmitsAndSaysNothingElse(t *testing.T) {
	for _, grant := range []quota.Grant{{}, {Ticket: quota.Ticket{ID: "1"}}, {Wait: -time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			s := newScripted()
			s.take = func(context.Context, quota.Request) (quota.Grant, error) { return grant, nil }
			g := made(t, guard.Policy{Name: "api", Store: s, Limits: slots(1)})
			require.NoError(t, do(t.Context(), g, nothing))
			require.NoError(t, g.Do(t.Context(), tokens(5), func(ctx context.Context) error {
				guard.Use(ctx, tokens(4))
				return nil
			}))
			idle(t, g)
			if grant.Ticket.ID == "" {
				assert.Zero(t, s.ends.Load()+g.Stats().StoreErrors, "nothing was taken")
			}
		})
	}
}

// A grant that was made without the store shows in the statistics until the store answers again.
func TestStatsOfADegradedStore(t *testing.T) {
	store := newScripted()
	s, err := quota.WithFallback(store, quota.Fallback{Unlimited: true})
	require.NoError(t, err)
	g, err := guard.New(guard.Policy{Name: "a", Store: s})
	require.NoError(t, err)
	do := func() {
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(context.Context) error { return nil }))
	}
	do()
	require.NoError(t, g.Stats().Degraded)
	store.take = func(context.Context, quota.Request) (quota.Grant, error) { return quota.Grant{}, errDown }
	do()
	require.ErrorIs(t, g.Stats().Degraded, errDown)
	assert.Contains(t, g.Stats().Why, "without the store: connection refused")
	store.take = nil
	do()
	require.NoError(t, g.Stats().Degraded)
}
