package node_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// The code of the README is that of the examples below, which run.
func TestReadmeCompiles(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	ours, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	code := strings.ReplaceAll(string(ours), "\n\t", "\n")
	unmarked := regexp.MustCompile("(?s)<!-- from: \\S+ -->\n```go\n.*?```").ReplaceAll(readme, nil) // internal/guide has the others
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(unmarked), -1)
	require.Len(t, blocks, 4)
	for _, b := range blocks[1:] { // the first is for examples/openai, which has the SDK
		for line := range strings.Lines(b[1]) {
			assert.Contains(t, code, line)
		}
	}
}

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

// The second block.
func Example_readmePreset() {
	ctx, client, texts := context.Background(), completer{}, []string{"one", "two"}

	translate := node.Map("translate", client.Complete).WithParallel(16).WithPreset(presets.OpenAITier1)
	translated, err := translate.All(ctx, texts)

	fmt.Println(translated, err)
	// Output: [ONE TWO] <nil>
}

// The third one.
func Example_readmeRegistry() {
	ctx, client, texts := context.Background(), completer{}, []string{"one", "two"}

	config, err := registry.Parse("openai: 500/min; ols: 4/s, 8 concurrent")
	if err != nil {
		panic(err)
	}
	reg, err := registry.New(config)
	if err != nil {
		panic(err)
	}
	title := node.Map("title", client.Complete).WithParallel(16).WithLimiter(reg.Get("openai"))
	shout := node.Map("shout", client.Complete).WithParallel(16).WithLimiter(reg.Get("openai"))

	titles, err := title.All(ctx, texts)
	shouts, failed := shout.All(ctx, titles)
	fmt.Println(shouts, err, failed)
	fmt.Println(reg.Get("openai").Throttle().Stats().Admitted, "calls on one quota")
	// Output:
	// [ONE TWO] <nil> <nil>
	// 4 calls on one quota
}
