// Failures: what fails is tried again, and what fails for good is named.
//
//	go run ./examples/tutorial/3failures
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/examples/tutorial"
	"github.com/headrace/headrace/examples/tutorial/fake"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/retry"
)

// badDay breaks once on Alice's rabbit, and never takes the town of Moby-Dick.
func badDay() func(providertest.Request) *providertest.Fault {
	var broken atomic.Bool
	return func(r providertest.Request) *providertest.Fault {
		switch text := r.Messages[0].Content; {
		case strings.Contains(text, "Rabbit") && !broken.Swap(true):
			return &providertest.Fault{Status: http.StatusInternalServerError}
		case strings.Contains(text, "Manhattoes"):
			return &providertest.Fault{Status: http.StatusBadRequest}
		default:
			return nil
		}
	}
}

func run(ctx context.Context) error {
	model, err := fake.New(providertest.Config{Fault: badDay()})
	if err != nil {
		return err
	}
	defer model.Close()

	summarise := node.Map("summarise", func(ctx context.Context, t tutorial.Text) (string, error) {
		second := strings.Split(t.Body, "\n\n")[1] // panics if there is none
		return model.Ask(ctx, "Summarise this in one sentence.", second)
	}).
		WithParallel(4).
		WithRetry(retry.Policy{MaxAttempts: 3, Initial: 10 * time.Millisecond}).
		WithTimeout(time.Minute)

	texts := append(tutorial.Texts(), tutorial.Text{Title: "A note", Body: "Buy bread."})
	summaries, err := summarise.All(ctx, texts)
	if failed, ok := errors.AsType[*node.BatchError](err); ok {
		fmt.Println(failed.Counts.Done, "done,", failed.Counts.Failed, "failed:")
		for _, err := range failed.First {
			fmt.Println(" ", err)
		}
	} else if err != nil {
		return err
	}
	fmt.Println("the first is there:", summaries[0])
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
