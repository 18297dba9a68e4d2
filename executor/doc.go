// Package executor makes calls as they come: a bounded queue in front of workers,
// with limits, and a record of the life of each call. It is for services that run
// for long; for a list of items use node.Map.
//
//	x, err := executor.New(executor.Config{Policy: guard.Policy{Preset: presets.OpenAITier1}})
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
// Submit waits for room in the queue while the task is Pending. When a worker
// takes it out of the queue it is Processing while it waits for its guard, and
// Calling during its call. A call that was rejected for rate, or is repeated by
// Policy.Retry, is Processing again until it is sent again. A task that has not
// begun may fail or be cancelled too. Every task ends in one of the three last
// states, once: also if its call panics, ends its goroutine, or never returns.
//
// Failed is a task whose call, or whose deadline, ended it with an error.
// Cancelled is one that the caller gave up: by [Task.Cancel], [Executor.Close],
// or the end of the context that it was submitted with.
//
// # Limits
//
// All calls pass the guard that is made from Config.Policy; [Within] adds others
// for one task, such as that of a user. See package guard.
//
// # What is bounded
//
// Calls that run at the same time: by Concurrency. Goroutines: one for each of
// these, at most four more for each while tasks wait for another attempt or for
// a guard of their own, and one. A call that goes on for a second after its
// context ended is left behind and its worker replaced, so that there may be as
// many again of those, and never more. Memory: a queued task takes less than a
// kilobyte besides what its call refers to.
package executor
