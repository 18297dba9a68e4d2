package executor

import (
	"context"

	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// Run has f run by a worker, as a task with this cost, and returns when it has
// ended: through the queue, the concurrency and the executor's guard, but
// without its Retry. It is how a node runs on an executor; see
// node.Batch.WithExecutor. The error is that of the task.
//
// f is not running any more when Run returns, unless it was left behind
// (*fault.HungError). When the run that ctx belongs to is stopped, a
// task that has not begun is given up. Inside of a call of the same executor f
// runs in the slot of that call if no worker is free: nothing waits for itself.
func (x *Executor) Run(ctx context.Context, c throttle.Cost, f func(context.Context) error) error {
	in, has := intake.Of(ctx) //nolint:contextcheck // it is of ctx
	if !has {
		in = nil
	} else if in.Err() != nil {
		return context.Cause(in)
	}
	t := &Task[struct{}]{
		record: record{x: x, ctx: ctx},
		do:     func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) },
	}
	t.job, t.single = t, true
	if c != (throttle.Cost{}) {
		said := c
		t.cost = &said
	}
	if err := x.submit(&t.record, nil, true); err != nil {
		return err
	}
	for {
		err := t.wait(context.WithoutCancel(ctx), in) // its own context is ctx: when that ends, so does the task
		if err == nil {
			break
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.errLocked()
}
