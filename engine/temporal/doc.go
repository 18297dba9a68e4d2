// Package temporal runs flows of headrace on Temporal, when one machine is not enough: steps and items
// are activities, batches are worked on in pages, and flows and batches inside are child workflows.
// States, items and results stay in a [Store]; a history has references to them.
//
// Every worker builds the same flow, and a program starts it by name:
//
//	w, err := temporal.NewWorker(c, options, catalogue(model))
//	...
//	state, err := temporal.Run(ctx, c, catalogue(nil), &Catalogue{}, options)
//
// A rate-limit response is not an attempt: the activity returns with the pause as its next retry delay,
// and its slot is free meanwhile. The guards of nodes belong to the worker: use guards of a
// group.Group, so that one learner admits the calls of all workers. Activities within such a guard have
// their own task queue; its rate follows the learned limits. docs/engines.md has the rules.
package temporal
