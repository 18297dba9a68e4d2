// Limits: the provider rejects calls, and no call fails.
//
//	go run ./examples/tutorial/2limits
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/headrace/headrace/examples/tutorial"
	"github.com/headrace/headrace/examples/tutorial/fake"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/throttle"
)

func run(ctx context.Context) error {
	// Two calls at a time, an undisclosed limit: it rejects all others.
	model, err := fake.New(providertest.Config{Limits: providertest.Limits{Concurrency: 2}})
	if err != nil {
		return err
	}
	defer model.Close()
	ask := func(ctx context.Context, t tutorial.Text) (string, error) {
		return model.Ask(ctx, "Summarise this in one sentence.", t.Body)
	}

	learned := node.Map("learned", ask).WithParallel(6)

	limits, err := throttle.ParseLimits("2 concurrent, 500/min")
	if err != nil {
		return err
	}
	configured := node.Map("configured", ask).WithParallel(6).WithLimits(limits)

	for _, summarise := range []*node.Batch[node.None, tutorial.Text, string]{learned, configured} {
		summaries, err := summarise.All(ctx, tutorial.Texts())
		if err != nil {
			return err
		}
		refused := summarise.Guard().Stats().View.Hits > 0
		fmt.Printf("%s: %d summaries, refused on the way: %t\n", summarise.Name(), len(summaries), refused)
	}
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
