package executor

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// meddling is a context in which f runs whenever something is looked up, once it is set.
type meddling struct {
	context.Context //nolint:containedctx // it is one

	f *atomic.Pointer[func()]
}

func meddle(ctx context.Context) meddling { return meddling{ctx, new(atomic.Pointer[func()])} }

func (m meddling) Value(key any) any {
	if f := m.f.Load(); f != nil {
		(*f)()
	}
	return m.Context.Value(key)
}

// Tasks reach their limits in the order in which they leave the queue, even if an earlier one takes longer to get there.
func TestTasksReachTheirLimitsInOrder(t *testing.T) {
	second := throttle.Sliding(1, time.Second)
	for name, c := range map[string]struct {
		policy guard.Policy
		within []throttle.Window // of a guard around all tasks
	}{
		"of the executor":              {policy: within(second)},
		"of each task":                 {within: []throttle.Window{second}},
		"of the executor and the task": {policy: within(throttle.Sliding(1000, time.Second)), within: []throttle.Window{second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var began []int
				x := start(t, Config{Policy: c.policy, Concurrency: 8})
				x.Pause()
				var opts []SubmitOption
				if c.within != nil {
					g, err := guard.New(within(c.within...))
					require.NoError(t, err)
					opts = append(opts, Within(g))
				}
				for i := range 8 {
					ctx := meddle(t.Context())
					_, err := Submit(ctx, x, func(context.Context) (int, error) {
						began = append(began, i)
						return i, nil
					}, opts...)
					require.NoError(t, err)
					look := func() { time.Sleep(time.Duration(8-i) * time.Microsecond) } // each is faster than the one before it
					ctx.f.Store(&look)
				}
				x.Resume()
				time.Sleep(time.Millisecond)
				assert.Equal(t, int64(7), x.Stats().Tasks[Processing], "all have their place")
				require.NoError(t, x.Join(t.Context()))
				assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, began)
			})
		})
	}
}

// Tasks wait neither for one that is not admitted, nor for the observer of another.
func TestATaskThatIsNotAdmittedLetsTheNextOneCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := within(throttle.Sliding(10, time.Minute).Of(throttle.Tokens))
		observed := make(chan struct{})
		var second []event.Kind
		p.Observer = event.Func(func(e event.Event) {
			switch {
			case e.Index == 1:
				second = append(second, e.Kind)
			case e.Index == 0 && e.Kind == event.TaskStarted:
				<-observed
			}
		})
		x := start(t, Config{Policy: p, Concurrency: 3})
		x.Pause() // until all are queued, and have said so
		must(t, x, value(1), WithCost(throttle.Cost{Tokens: 1}))
		over := must(t, x, value(2), WithCost(throttle.Cost{Tokens: 11}))
		third := must(t, x, value(3), WithCost(throttle.Cost{Tokens: 1}))
		x.Resume()
		_, err := over.Wait(t.Context())
		require.ErrorIs(t, err, throttle.ErrCost)
		_, err = third.Wait(t.Context())
		require.NoError(t, err)
		close(observed)
		require.NoError(t, x.Join(t.Context()))
		assert.Equal(t, []event.Kind{event.TaskQueued, event.TaskStarted, event.TaskFailed}, second)
	})
}

// brokenLaw panics when it is first asked.
type brokenLaw struct{ adaptive.AIMD }

type brokenState struct{ adaptive.State }

func (b brokenLaw) Start(now time.Time, seed uint64) (adaptive.State, error) {
	s, err := b.AIMD.Start(now, seed)
	return brokenState{s}, err
}

func (brokenState) Admit(time.Time, throttle.Cost, int) time.Duration { panic("broken") }

// An observer of the guard that blocks does not keep other tasks from starting.
func TestATaskWhoseGuardTellsAnObserverLetsTheNextOneCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observed := make(chan struct{})
		var told, began atomic.Int64
		x := start(t, Config{Concurrency: 3, Policy: guard.Policy{Law: brokenLaw{}, Observer: event.Func(func(e event.Event) {
			if e.Kind == event.LimiterChanged {
				told.Add(1)
				<-observed
			}
		})}})
		for range 3 {
			must(t, x, func(context.Context) (int, error) {
				began.Add(1)
				time.Sleep(time.Second)
				return 0, nil
			})
		}
		time.Sleep(time.Hour)
		assert.EqualValues(t, 1, told.Load())
		assert.EqualValues(t, 2, began.Load())
		close(observed)
		require.NoError(t, x.Join(t.Context()))
	})
}

// Tasks do not wait for one with a goroutine that ends before it reaches its limits.
func TestATaskThatNeverComesToItsLimitsLetsTheNextOneCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Policy: within(throttle.Sliding(10, time.Minute)), Concurrency: 2})
		x.Pause()
		ctx := meddle(t.Context())
		lost, err := Submit(ctx, x, value(1))
		require.NoError(t, err)
		next := must(t, x, value(2))
		exit := func() { ctx.f.Store(nil); runtime.Goexit() }
		ctx.f.Store(&exit)
		x.Resume()
		_, err = next.Wait(t.Context())
		require.NoError(t, err)
		_, err = lost.Wait(t.Context())
		require.ErrorIs(t, err, errGoexit)
	})
}

// asking is a store that takes a second to answer.
type asking struct{ quota.Store }

func (a asking) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	time.Sleep(time.Second)
	return a.Store.Take(ctx, r)
}

// Several tasks ask a store at the same time.
func TestTasksDoNotWaitForTheStoreOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := within(throttle.Sliding(100, time.Second))
		p.Name, p.Store = "api", asking{quota.NewMemoryStore(nil)}
		x := start(t, Config{Policy: p, Concurrency: 8})
		began := time.Now()
		for range 8 {
			must(t, x, value(1))
		}
		require.NoError(t, x.Join(t.Context()))
		assert.Equal(t, time.Second, time.Since(began))
	})
}
