// List: a function over a list.
//
//	go run ./examples/tutorial/1list
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/headrace/headrace/examples/tutorial"
	"github.com/headrace/headrace/examples/tutorial/fake"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/providertest"
)

func run(ctx context.Context) error {
	model, err := fake.New(providertest.Config{}) // the real one: openai.New("gpt-4o-mini")
	if err != nil {
		return err
	}
	defer model.Close()

	summarise := node.Map("summarise", func(ctx context.Context, t tutorial.Text) (string, error) {
		return model.Ask(ctx, "Summarise this in one sentence.", t.Body)
	}).WithParallel(4)

	texts := tutorial.Texts()
	summaries, err := summarise.All(ctx, texts)
	for i, s := range summaries {
		fmt.Printf("%s: %s\n", texts[i].Title, s)
	}
	return err
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
