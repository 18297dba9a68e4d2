package node

import (
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// The default of WithLookahead with WithinOf. Items often come host by host, and
// what is ahead has to reach enough hosts to use up the outer limit.
const (
	aheadOfEach = 16
	leastAhead  = 256
)

// windowOfEach is the default of WithWindow for each worker.
const windowOfEach = 4

// ahead reports whether waiting items do not count against WithParallel.
func (b *Batch[S, In, Out]) ahead() bool { return b.withinOf != nil || b.lookahead > 0 }

// workers is how many items are worked on or wait to be admitted.
func (b *Batch[S, In, Out]) workers() int {
	switch {
	case b.lookahead > 0:
		return max(b.lookahead, b.parallel)
	case b.withinOf != nil:
		return max(leastAhead, min(aheadOfEach*b.parallel, mostWorkers))
	default:
		return b.parallel
	}
}

// look prepares the guards of the run's calls. With a lookahead there are more
// workers than calls may be in progress, and a guard of the run bounds these.
func (r *run[S, In, Out]) look(own *guard.Guard) (err error) {
	b := r.b
	r.guard = own
	r.retries = r.observer != nil && (b.withinOf != nil || !tree(own, func(g *guard.Guard) bool { return g.Policy().Retry == nil }))
	if !b.ahead() {
		return nil
	}
	r.bound, err = guard.New(guard.Policy{Name: b.name, Limits: throttle.Limits{Concurrency: b.parallel}})
	r.guard = guard.Join(own, r.bound)
	return err
}

// guardOf is the guard of the calls for one item. The item's own guard comes
// first and learns, unless the batch itself knows the provider.
func (r *run[S, In, Out]) guardOf(in In) *guard.Guard {
	if r.b.withinOf == nil {
		return r.guard
	}
	return r.b.joined(r.guard, in)
}

// joined returns own, the guard of the batch, within that of the item.
func (b *Batch[S, In, Out]) joined(own *guard.Guard, in In) *guard.Guard {
	of, p := b.withinOf(in), &b.policy
	if p.Law != nil || p.Preset != "" || p.Dialect != nil || p.Detector != nil {
		return guard.Join(own, of)
	}
	return guard.Join(of, own)
}

// holds reports whether late is of a limit that holds back every item.
func (r *run[S, In, Out]) holds(late *throttle.DeadlineError) bool {
	return r.b.withinOf == nil || !tree(r.b.made(), func(g *guard.Guard) bool { return g.Name() != late.Limiter })
}
