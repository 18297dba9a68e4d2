package benchmarks

import (
	"context"
	"testing"

	"github.com/headrace/headrace/executor"
)

const executorQueue = 1000

// future is what a worker pool of channels gives its callers to wait on.
type future struct {
	in   int
	ctx  context.Context //nolint:containedctx // it is that of the call
	out  int
	err  error
	done chan struct{}
}

// futures starts the worker pool that people write by hand: a channel as the
// queue, with as much room and as many workers as the executor has, and a channel for
// each result, on which its submitter waits. It knows what it calls, where the
// executor takes any function, and has none of the states, times, limits and panics of a task.
func futures(b *testing.B) (submit func(context.Context, int) *future) {
	b.Helper()
	queue, stopped := make(chan *future, executorQueue), make(chan struct{})
	for range batchAtOnce {
		go func() {
			defer func() { stopped <- struct{}{} }()
			for f := range queue {
				f.out, f.err = noop(f.ctx, f.in)
				close(f.done)
			}
		}()
	}
	b.Cleanup(func() {
		close(queue)
		for range batchAtOnce {
			<-stopped
		}
	})
	return func(ctx context.Context, in int) *future {
		f := &future{in: in, ctx: ctx, done: make(chan struct{})}
		queue <- f
		return f
	}
}

// Executor is calls that do nothing, all of which are handed in one after the
// other by one goroutine, which then waits for each of them and takes its result and
// error: what a queue in front of workers costs a call.
func BenchmarkExecutor(b *testing.B) {
	submit := futures(b)
	open := func(c executor.Config) *executor.Executor {
		c.Queue, c.Concurrency = executorQueue, batchAtOnce
		x, err := executor.New(c)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = x.Close() })
		return x
	}
	through := func(x *executor.Executor) func(context.Context, []int) ([]int, error) {
		return func(ctx context.Context, items []int) ([]int, error) {
			tasks := make([]*executor.Task[int], len(items))
			for i, item := range items {
				var err error
				tasks[i], err = executor.Submit(ctx, x, func(ctx context.Context) (int, error) { return noop(ctx, item) })
				if err != nil {
					return nil, err
				}
			}
			out := make([]int, len(items))
			for i, t := range tasks {
				var err error
				if out[i], err = t.Wait(ctx); err != nil {
					return nil, err
				}
			}
			return out, nil
		}
	}
	batches(b, allCores, []batch{
		{"headrace", through(open(executor.Config{}))},
		{"channel-pool", func(ctx context.Context, items []int) ([]int, error) {
			waiting := make([]*future, len(items))
			for i, item := range items {
				waiting[i] = submit(ctx, item)
			}
			out := make([]int, len(items))
			for i, f := range waiting {
				<-f.done
				if f.err != nil {
					return nil, f.err
				}
				out[i] = f.out
			}
			return out, nil
		}},
	})
}
