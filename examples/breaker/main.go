// Breaker: a server that fails is left alone for a while.
//
// Retries and a breaker go together. The retry policy gives an item another
// chance; the breaker sees the failures of all items, and after three in a row
// it opens: nothing is sent any more. After its time a single call goes
// as a probe. If that fails the breaker is open for twice as long; two probes
// that succeed close it. A refusal for rate never opens it, and neither does an
// answer such as a 400: the server works, after all.
//
//	go run ./examples/breaker
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/examples/internal/chat"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/retry"
)

// down is a provider that fails the first calls.
func down(calls int64) (*providertest.Server, error) {
	var arrived atomic.Int64
	return providertest.New(providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		if arrived.Add(1) > calls {
			return nil
		}
		return &providertest.Fault{Status: http.StatusBadGateway}
	}})
}

func run(ctx context.Context) error {
	provider, err := down(4)
	if err != nil {
		return err
	}
	defer provider.Close()
	client := chat.New(provider)

	// One guard for each thing that fails by itself. Several nodes may be within it.
	answering, err := guard.New(guard.Policy{
		Name:    "answers",
		Breaker: &breaker.Config{Failures: 3, Successes: 2, Open: 50 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	ask := node.Map("ask", func(ctx context.Context, q string) (string, error) { return client.Complete(ctx, q, q) }).
		Within(answering).
		WithRetry(retry.Policy{MaxAttempts: 10, Initial: time.Millisecond})

	ctx = event.With(ctx, event.Func(func(e event.Event) {
		if e.Source == answering.Name() {
			fmt.Println(e.Kind, "after", provider.Counts().Arrivals, "calls")
		}
	}))
	answers, err := ask.All(ctx, []string{
		"What is a weir? A dam in a river.",
		"What is a leat? A channel to a mill.",
		"What is a sluice? A gate for water.",
		"What is a race? The water at the wheel.",
	})
	if err != nil {
		return err
	}
	for _, a := range answers {
		fmt.Println(a)
	}
	fmt.Println(provider.Counts().Arrivals, "calls for", len(answers), "answers")
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
