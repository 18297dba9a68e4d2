// Package node holds the steps that flows are made of.
//
// A Step is one function over the shared state S: Do goes on to the next node,
// Decide picks it. A Batch works on many items, with functions or with a type
// for its code (NewBatch). Each takes the items from a slice and stores the
// results in S; BatchFunc is for streams and for partial results. Map has no
// state, and One has a single item: a step whose result a journal can keep.
//
//	embed := node.Map("embed", func(ctx context.Context, text string) ([]float32, error) {
//		return client.Embed(ctx, text)
//	}).WithParallel(32).WithRetry(retry.Policy{})
//	vectors, err := embed.All(ctx, texts)
//
// Whatever a node is told by a provider about rate, it waits out: a refused
// item gives its slot back, goes again, and neither fails nor uses up a
// retry. That holds without any setting; WithPreset, WithLimits and With declare
// more about the provider, and Within shares one guard between nodes.
//
// What users trip over:
//
//   - An SDK that retries by itself hides refusals from the limiter: turn that
//     off (WithMaxRetries(0) in the OpenAI and Anthropic SDKs).
//   - In Stream the error beside a result is that of the whole run; the error
//     of one item is in its Result.
//   - WithPreset and WithLimits are for one node. Two nodes that draw on one quota
//     are within one guard, such as that of a registry, with Within.
//   - Settings are frozen by the first run. A later change is an error of the
//     next run.
package node
