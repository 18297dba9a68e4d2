// Package executor makes calls as they arrive: a bounded queue in front of
// workers, with limits, and a record of each call. It is for long-running
// services; for a list of items use node.Map.
//
//	x, err := executor.New(executor.Config{Policy: guard.Policy{Preset: presets.OpenAITier1}})
//	...
//	defer x.Close()
//	t, err := executor.Submit(ctx, x, ask, executor.WithCost(throttle.Cost{Tokens: 900}))
//	...
//	answer, err := t.Wait(ctx)
//
// A task goes through these states:
//
//	Pending -> Queued -> Processing <-> Calling -> Completed, Failed or Cancelled
//
// Every task ends in one of the last three, once, also if its call panics or never
// returns. The guide docs/executor.md describes the states, the limits, stopping, and
// how many goroutines and how much memory an executor needs.
package executor
