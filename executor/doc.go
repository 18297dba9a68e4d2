// Package executor works on calls as they come: a bounded queue in front of a
// fixed number of workers, with limits, and the life of each call on record. It
// is for services that run for long; a list of items is better off with
// node.Map.
//
//	x, err := executor.New(executor.Config{
//		Requests: executor.Rate{N: 500, Per: time.Minute},
//		Tokens:   executor.Rate{N: 200_000, Per: time.Minute},
//	})
//	...
//	defer x.Close()
//	t, err := executor.Submit(ctx, x, ask, executor.WithCost(throttle.Cost{Tokens: 900}))
//	...
//	answer, err := t.Wait(ctx)
//
// # The life of a task
//
//	Pending -> Queued -> Processing <-> Calling -> Completed, Failed or Cancelled
//
// Submit waits for room in the queue while the task is Pending. A worker takes it
// out of the queue: it is Processing while it waits for the limits, and Calling in
// its call. A call that was refused for rate, or is repeated by Config.Retry, is
// Processing again until it goes. A task that has not begun may fail or be
// cancelled too. Every task ends in one of the three last states, once: also if
// its call panics, ends its goroutine, or never returns.
//
// Failed is a task whose call, or whose deadline, ended it with an error.
// Cancelled is one that this side gave up: by Task.Cancel, Executor.Close, or the
// end of the context that it was submitted with.
//
// # What is bounded
//
// Calls that are made at the same time: by Concurrency. Goroutines: Workers and one
// more. A call that goes on for a second after its context ended is left behind and its
// worker replaced, so that there may be as many again of those, and never more. Memory:
// a queued task takes less than a kilobyte besides what its call holds on to.
package executor
