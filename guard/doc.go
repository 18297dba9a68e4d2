// Package guard makes guarded calls. A Guard sits between your code and a provider: it waits for the limits, retries
// what may be retried, and learns from every answer. A Policy describes what you know about the provider; with the zero
// Policy the guard finds the limits itself.
//
//	openai, err := guard.New(guard.Policy{Preset: presets.OpenAITier1})
//	...
//	err = openai.Do(ctx, throttle.Cost{Tokens: 900}, func(ctx context.Context) error {
//		return send(ctx)
//	})
//
// Batches, executors, HTTP transports and registries take the same Policy and the same Guard. Limits combine: a guard within
// others admits a call only if all of them do, at one instant.
package guard
