package node

import (
	"context"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/throttle"
)

// Pool is a set of workers that nodes share. *executor.Executor is one.
type Pool interface {
	// Run has f run by one of the pool's workers, at this cost, and returns when f
	// has: its error is that of f, or why f was not run. The context that f gets ends
	// with ctx. Inside of an f of the same pool it must not wait for
	// a worker for ever, since all of them may be waiting like this.
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

// WithExecutor runs every attempt on p, such as an *executor.Executor, which
// other batches and services share: in its queue, within its concurrency and its
// limits. WithParallel bounds how many items of this batch are there at the same
// time. The batch's own guard admits an attempt before p does; a rate-limit
// response is handled by p first. A batch inside a call of the same executor uses
// the slot of that call.
func (b *Batch[S, In, Out]) WithExecutor(p Pool) *Batch[S, In, Out] {
	b.setPool(p)
	return b
}

// WithExecutor has every attempt run by p; see the one of Batch.
func (n *Step[S]) WithExecutor(p Pool) *Step[S] { n.setPool(p); return n }
