package temporal

import (
	"cmp"
	"errors"
	"fmt"

	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/guard"
)

// Options are those of workers and runs. Queue, Namespace and Store must be the same for both.
type Options struct { //nolint:recvcheck // withDefaults returns a copy
	// Queue is the task queue. Empty means "headrace". Activities within a guard with limits or a
	// controller have the queue Queue/NAME, where NAME is the guard that learns.
	Queue string
	// Namespace is that of the client. Empty means "default".
	Namespace string
	// Store keeps states, items and results. It must be set.
	Store Store
	// Slots bounds how many activities a worker runs at a time, of each queue. 0 means 100.
	Slots int

	// ID is the workflow ID of a run, which has one result: see Run. Empty means a new one.
	ID string
	// Priority is the priority of the activities of a run. Without a FairnessKey each node has its own,
	// so that a large batch does not keep other nodes of the queue waiting.
	Priority sdk.Priority
}

// defaultSlots is how many activities of a queue a worker runs at a time.
const defaultSlots = 100

func (o Options) withDefaults() Options {
	o.Queue = cmp.Or(o.Queue, "headrace")
	o.Namespace = cmp.Or(o.Namespace, client.DefaultNamespace)
	o.Slots = cmp.Or(o.Slots, defaultSlots)
	return o
}

func (o *Options) validate() error {
	var errs []error
	if o.Store == nil {
		errs = append(errs, errors.New("temporal: Store: it is nil: states, items and results need one, such as a Dir"))
	}
	if o.Slots < 0 {
		errs = append(errs, fmt.Errorf("temporal: Slots: %d is negative: use 0 for %d", o.Slots, defaultSlots))
	}
	return errors.Join(errs...)
}

// queueOf returns the task queue of the calls of a part.
func (o *Options) queueOf(p *engine.Part) string {
	if l := learnerOf(p); l != nil {
		return o.Queue + "/" + l.Name()
	}
	return o.Queue
}

// learnerOf returns the guard that sets the rate of a part's queue; nil if there is none.
func learnerOf(p *engine.Part) *guard.Guard {
	if p.Guard == nil {
		return nil
	}
	g := p.Guard()
	if g == nil || g.Learner() == nil {
		return nil
	}
	l := g.Learner()
	switch policy := l.Policy(); {
	case policy.Law != nil, policy.Preset != "", policy.Limits.Concurrency > 0, len(policy.Limits.Windows) > 0:
		return l
	default:
		return nil
	}
}
