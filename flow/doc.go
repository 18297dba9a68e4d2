// Package flow composes nodes into graphs and runs them.
//
// A Flow goes from node to node over one shared state, each node picking its
// successor by the action it returns: Then for the usual way, On for branches
// and loops, End where a branch ends. A flow is a node itself, so flows nest.
//
// Each makes a node that runs a flow once for every item, each run on its own copy
// of the item; Batch is for streams of items and for partial results. Parallel
// runs different nodes at the same time.
//
//	f := flow.New("review", draft).
//		Then(review).
//		On(review, "revise", draft).
//		End(review, "approve")
//	report, err := flow.Run(ctx, f, &Document{})
package flow
