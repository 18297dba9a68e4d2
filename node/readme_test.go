package node_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

type completer struct{}

func (completer) Complete(_ context.Context, prompt string) (string, error) {
	return strings.ToUpper(prompt), nil
}

// The first block of the README.
func Example_readme() {
	ctx, client, texts := context.Background(), completer{}, []string{"one", "two"}

	summarise := node.Map("summarise", func(ctx context.Context, text string) (string, error) {
		return client.Complete(ctx, "Summarise: "+text)
	}).
		WithParallel(32).
		WithLimits(throttle.Limits{Windows: []throttle.Window{
			throttle.Sliding(500, time.Minute),                         // requests
			throttle.Sliding(200_000, time.Minute).Of(throttle.Tokens), // tokens
		}}).
		WithCost(func(text string) throttle.Cost { return throttle.Cost{Tokens: int64(len(text))/4 + 60} }).
		WithRetry(retry.Policy{})

	summaries, err := summarise.All(ctx, texts)

	fmt.Println(summaries, err)
	// Output: [SUMMARISE: ONE SUMMARISE: TWO] <nil>
}
