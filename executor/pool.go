package executor

import (
	"context"

	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// Run makes a worker run f, as a task with this cost but without Policy.Retry, and
// returns when it has ended or was abandoned (*fault.HungError). It implements
// node.Pool, see node.Batch.WithExecutor. Inside a call of the same executor f runs in
// the slot of that call if no worker is free.
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
