// Package node has the steps that flows are made of.
//
// A Step is one function over the shared state S: Do continues with the next
// node, Decide picks it. A Batch works on many items. The guides are
// docs/batches.md, docs/limits.md and docs/resume.md.
//
//	embed := node.Map("embed", func(ctx context.Context, text string) ([]float32, error) {
//		return client.Embed(ctx, text)
//	}).WithParallel(32).WithRetry(retry.Policy{})
//	vectors, err := embed.All(ctx, texts)
//
// A node waits out rate-limit responses without any setting: the item releases
// its slot and is retried. It does not fail, and uses up no attempt.
//
// Common mistakes:
//
//   - Leaving an SDK's own retries on, which hides rate-limit responses. Use
//     WithMaxRetries(0) in the OpenAI and Anthropic SDKs.
//   - Giving two nodes that use one quota limits each. Share one guard: Within.
//   - Changing settings after the first run: the next run fails.
package node
