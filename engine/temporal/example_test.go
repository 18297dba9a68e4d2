package temporal_test

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/client"

	"github.com/headrace/headrace/engine/temporal"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

type card struct{ Title, Line string }

func cards() *flow.Flow[*card] {
	return flow.New("card", node.Do("write", func(_ context.Context, c *card) error { c.Line = "About " + c.Title; return nil }))
}

// A worker, most often in a process of its own, and a run.
func ExampleRun() {
	c, err := client.Dial(client.Options{HostPort: "127.0.0.1:7233"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	options := temporal.Options{Store: temporal.Dir("/mnt/shared/runs")}
	w, err := temporal.NewWorker(c, options, cards())
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := w.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer w.Stop()
	done, err := temporal.Run(context.Background(), c, cards(), &card{Title: "Moby-Dick"}, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(done.Line)
}

// What cannot travel is refused by name, before anything starts.
func ExampleNewWorker() {
	type card struct{ title string }
	write := node.Do("write", func(context.Context, *card) error { return nil })
	_, err := temporal.NewWorker(nil, temporal.Options{Store: temporal.Dir("runs")}, write)
	fmt.Println(err)
	_ = card{title: ""}
	// Output:
	// node "write": state: it is sent as JSON, which leaves out *temporal_test.card.title: export it, tag it `json:"-"` if it may be lost, or give its type MarshalJSON and UnmarshalJSON
}
