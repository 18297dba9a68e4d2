// Progress: a list becomes a node over a state, and its progress is watched.
//
//	go run ./examples/tutorial/4progress
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/headrace/headrace/console"
	"github.com/headrace/headrace/examples/tutorial"
	"github.com/headrace/headrace/examples/tutorial/fake"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/retry"
)

// Shelf is the state: what the node reads, and where its results go.
type Shelf struct {
	Passages  []string
	Summaries []string
}

func summarise(model tutorial.Model) *node.Batch[*Shelf, string, string] {
	return node.Each("summarise",
		func(s *Shelf) []string { return s.Passages },
		func(ctx context.Context, passage string) (string, error) {
			return model.Ask(ctx, "Summarise this in one sentence.", passage)
		},
		func(s *Shelf, summaries []string) { s.Summaries = summaries }).
		WithParallel(6).
		WithRetry(retry.Policy{})
}

func run(ctx context.Context) error {
	model, err := fake.New(providertest.Config{
		Limits:  providertest.Limits{Concurrency: 3},
		Latency: providertest.Fixed(200 * time.Millisecond),
	})
	if err != nil {
		return err
	}
	defer model.Close()

	shelf := &Shelf{}
	for _, t := range tutorial.Texts() {
		shelf.Passages = append(shelf.Passages, strings.Split(t.Body, "\n\n")...)
	}

	display, err := console.New(console.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = display.Close() }() // its troubles are not those of the run
	report, err := flow.Run(ctx, summarise(model), shelf, display.Watch())
	if err != nil {
		return err
	}

	n := report.Nodes["summarise"]
	fmt.Println(n.Done, "done,", n.Failed, "failed,", n.Retries, "retries")
	fmt.Println("refused on the way:", report.Limiters["summarise"].Hits > 0)
	fmt.Println("the last one:", shelf.Summaries[len(shelf.Summaries)-1])
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
