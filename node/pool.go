package node

import (
	"context"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/throttle"
)

// Pool is a set of workers that nodes share. *executor.Executor is one.
type Pool interface {
	// Run calls f on a worker, at cost c, and returns its error, or why it was not called. The context of
	// f ends with ctx. Inside an f of the same pool, Run must not wait for a worker forever.
	Run(ctx context.Context, c throttle.Cost, f func(context.Context) error) error
}

func (s *settings) setPool(p Pool) {
	s.setup.Change("WithExecutor", func() {
		if invalid.Nil(p) {
			s.setup.Addf("WithExecutor", "the executor is nil: leave the setting out")
			return
		}
		s.pool = p
	})
}

// WithExecutor runs every attempt on p, such as an *executor.Executor, after the batch's own guard has
// admitted it. WithParallel bounds how many items of this batch are there at once.
func (b *Batch[S, In, Out]) WithExecutor(p Pool) *Batch[S, In, Out] {
	b.setPool(p)
	return b
}

// WithExecutor runs every attempt on p. See Batch.WithExecutor.
func (n *Step[S]) WithExecutor(p Pool) *Step[S] { n.setPool(p); return n }
