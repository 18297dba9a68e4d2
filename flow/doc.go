// Package flow composes nodes into graphs and runs them. The guide is
// docs/flows.md.
//
// Each node picks its successor by the action it returns: Then is the default
// way, On branches and loops, End ends a branch. Each and Batch run a flow once
// for every item, Parallel runs different nodes at the same time.
//
//	f := flow.New("review", draft).
//		Then(review).
//		On(review, "revise", draft).
//		End(review, "approve")
//	report, err := flow.Run(ctx, f, &Document{})
package flow
