// Parallel batch: many items at the same time, results in the order of the input.
//
// Prep lists the passages of a text, Exec has a provider shorten one of them,
// Post puts the results together. Eight workers send what the limits allow. The
// provider takes three calls at a time and does not say so: what it refuses
// waits and goes again, which is no failure and uses up no retry. A status 500
// is tried again by the retry policy. A status 400 is the failure of one item,
// and the others go on.
//
//	go run ./examples/parallelbatch
package main

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/examples/internal/chat"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

const text = `A mill needs a fall of water. The higher the fall, the less water does the same work.
The weir holds the river back. What the mill does not take runs over its crest.
Above the weir lies the pond. It saves at night what the wheel needs by day.
The headrace leads from the pond to the mill. It loses as little height as it can.
A gate stands at its head. The miller opens it as far as the wheel can take.
Ahead of the gate is a rack of bars. It keeps branches and ice away from the wheel.
The wheel turns slowly and with great force. Gears make it quick.
Two stones lie on each other. Only the upper one turns.
Grain falls through the eye of the upper stone. Flour comes out at the rim.
[deleted]
The tailrace leads the water back. If it backs up, the wheel stands still.
A dry summer stops the mill. So does a flood.`

// Doc is the state.
type Doc struct {
	Passages, Summaries []string
	Failed              []error
}

// provider takes three calls at a time, and has a bad moment.
func provider() (*providertest.Server, error) {
	var broken atomic.Bool
	return providertest.New(providertest.Config{
		Limits:  providertest.Limits{Concurrency: 3},
		Latency: providertest.Fixed(30 * time.Millisecond),
		Fault: func(r providertest.Request) *providertest.Fault {
			switch {
			case strings.Contains(r.Messages[0].Content, "[deleted]"):
				return &providertest.Fault{Status: http.StatusBadRequest}
			case strings.Contains(r.Messages[0].Content, "stones") && !broken.Swap(true):
				return &providertest.Fault{Status: http.StatusInternalServerError}
			default:
				return nil
			}
		},
	})
}

func run(ctx context.Context) error {
	server, err := provider()
	if err != nil {
		return err
	}
	defer server.Close()
	client := chat.New(server)

	shorten := node.BatchFunc("shorten",
		func(_ context.Context, d *Doc) (iter.Seq2[string, error], error) { return node.Slice(d.Passages), nil },
		func(ctx context.Context, passage string) (string, error) {
			return client.Complete(ctx, passage, passage)
		},
		func(_ context.Context, d *Doc, r *node.Report[string, string]) (node.Action, error) {
			for failed := range r.Failed() {
				d.Failed = append(d.Failed, fmt.Errorf("passage %d: %w", failed.Index, failed.Err))
			}
			d.Summaries = r.Values() // one for each passage; that of a failed one is empty
			return node.Next, nil    // or r.Err(), to fail if any item has
		}).
		WithParallel(8).
		WithLimits(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(500, time.Minute)}}).
		WithRetry(retry.Policy{Initial: 10 * time.Millisecond})

	d := &Doc{Passages: strings.Split(text, "\n")}
	report, err := flow.Run(ctx, shorten, d)
	if err != nil {
		return err
	}
	for i, s := range d.Summaries {
		fmt.Println(i, s)
	}
	fmt.Println(d.Failed)
	n, counts := report.Nodes["shorten"], server.Counts()
	fmt.Println(n.Done, "done,", n.Failed, "failed,", n.Retries, "retry")
	fmt.Println("the provider refused:", counts.Refused > 0)
	fmt.Println("it has served", counts.Served, "calls, at most", counts.PeakInFlight, "at a time")
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
