package executor

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
)

// An observer that ends the goroutine which reports an event leaves no task, and no executor, without an end.
func TestAnObserverThatExits(t *testing.T) {
	for name, c := range map[string]struct {
		at  event.Kind
		end func(x *Executor, cancel func(), queued []*Task[int]) // what leads to the event
	}{
		"Cancel": {event.TaskCancelled, func(_ *Executor, _ func(), queued []*Task[int]) {
			for _, task := range queued {
				go task.Cancel()
			}
		}},
		"the end of the context": {event.TaskCancelled, func(_ *Executor, cancel func(), _ []*Task[int]) { cancel() }},
		"Close":                  {event.TaskCancelled, func(x *Executor, _ func(), _ []*Task[int]) { _ = x.Close() }},
		"runtime.Goexit":         {event.TaskFailed, func(*Executor, func(), []*Task[int]) {}},
		"stopping":               {event.ExecutorStopping, func(x *Executor, _ func(), _ []*Task[int]) { _ = x.Close() }},
		"stopped":                {event.ExecutorStopped, func(x *Executor, _ func(), _ []*Task[int]) { _ = x.Close() }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, err := New(Config{Concurrency: 1, Policy: guard.Policy{Observer: event.Func(func(e event.Event) {
					if e.Kind == c.at {
						runtime.Goexit()
					}
				})}})
				require.NoError(t, err)
				_, err = Submit(t.Context(), x, func(ctx context.Context) (int, error) {
					<-time.After(time.Second)
					runtime.Goexit()
					return 0, nil
				})
				require.NoError(t, err)
				synctest.Wait() // it has the only slot
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var queued []*Task[int]
				for range 3 {
					task, err := Submit(ctx, x, func(context.Context) (int, error) { return 0, nil })
					require.NoError(t, err)
					queued = append(queued, task)
				}
				go c.end(x, cancel, queued)
				for _, task := range queued {
					<-task.Done()
				}
				soon, end := context.WithTimeout(t.Context(), time.Minute)
				defer end()
				require.NoError(t, x.Join(soon))
				_ = x.Stop(soon)
				require.NoError(t, soon.Err())
				<-x.Done()
			})
		})
	}
}

// The same for one that had never begun.
func TestAnObserverThatExitsWhenAnIdleExecutorStops(t *testing.T) {
	for _, at := range []event.Kind{event.ExecutorStopping, event.ExecutorStopped} {
		x, err := New(Config{Policy: guard.Policy{Observer: event.Func(func(e event.Event) {
			if e.Kind == at {
				runtime.Goexit()
			}
		})}})
		require.NoError(t, err)
		go func() { _ = x.Close() }()
		<-x.Done()
	}
}
