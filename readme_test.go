package headrace_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
)

// Book is what the flow of the README digests.
type Book struct{ Text string }

// first is a client that returns the first half of a text as its summary.
type first struct{}

func (first) Complete(_ context.Context, text string) (string, error) {
	return text[:(len(text)+1)/2], nil
}

// The flow of the README: summaries of summaries, until they are short enough.
func Example_flow() {
	ctx, client := context.Background(), first{}
	text := strings.Repeat(strings.Repeat("the mill turns. ", 40)+"\n\n", 5)

	summarise := node.Each("summarise",
		func(b *Book) []string { return strings.Split(b.Text, "\n\n") },
		client.Complete,
		func(b *Book, short []string) { b.Text = strings.Join(short, "\n\n") }).
		WithParallel(16).WithPreset(presets.OpenAITier1)
	judge := node.Decide("judge", func(_ context.Context, b *Book) (node.Action, error) {
		if len(b.Text) > 1000 {
			return "too long", nil
		}
		return "fine", nil
	})
	digest := flow.New("digest", summarise).Then(judge).
		On(judge, "too long", summarise).
		End(judge, "fine")
	report, err := flow.Run(ctx, digest, &Book{Text: text})

	fmt.Println(report.Steps, "steps, the last one is", report.Last, err)
	// Output: 4 steps, the last one is judge <nil>
}
