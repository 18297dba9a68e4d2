package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
)

// words is a batch that says beforehand how many items it has.
func words() *node.Batch[*letter, string, int] {
	return node.BatchFunc("words",
		func(ctx context.Context, _ *letter) (iter.Seq2[string, error], error) {
			all := []string{"one", "two", "three"}
			flow.Expect(ctx, "words", len(all))
			return node.Slice(all), nil
		},
		func(_ context.Context, word string) (int, error) { return len(word), nil }, nil)
}

// There is a snapshot every second, and one at the end.
func ExampleWithProgress() {
	show := func(p event.Progress) {
		fmt.Println(p.Items.Done, "of", p.Items.Total, "done,", p.Items.Failed, "failed, the end:", p.Final)
	}
	_, err := flow.Run(context.Background(), flow.New("count", words()), &letter{}, flow.WithProgress(show, time.Second))
	fmt.Println(err)
	// Output:
	// 3 of 3 done, 0 failed, the end: true
	// <nil>
}

// The same snapshots are also available as events.
func ExampleWithProgress_events() {
	watch := event.Func(func(e event.Event) {
		if e.Kind == event.FlowProgress {
			fmt.Println(e.Source, e.Progress.Items.Done)
		}
	})
	_, err := flow.Run(context.Background(), flow.New("count", words()), &letter{},
		flow.WithObserver(watch), flow.WithProgress(nil, 10*time.Second))
	fmt.Println(err)
	// Output:
	// count 3
	// <nil>
}

// A total has to be supplied.
func ExampleExpect() {
	show := func(p event.Progress) { fmt.Println(p.Nodes[0].Name, p.Nodes[0].Total) }
	_, err := flow.Run(context.Background(), words(), &letter{}, flow.WithProgress(show, 0))
	fmt.Println(err)
	// Output:
	// words 3
	// <nil>
}

// A guard that a client uses itself is shown if it is named.
func ExampleWithGuards() {
	hidden, err := guard.New(guard.Policy{Name: "post office"})
	if err != nil {
		fmt.Println(err)
		return
	}
	show := func(p event.Progress) { fmt.Println(p.Limiters[0].Name, p.Limiters[0].InFlight, p.Limiters[0].Live) }
	_, err = flow.Run(context.Background(), node.Do("write", write), &letter{},
		flow.WithProgress(show, 0), flow.WithGuards(hidden))
	fmt.Println(err)
	// Output:
	// post office 0 true
	// <nil>
}

// A series has a point every second, and one at the end.
func ExampleWithSeries() {
	report, err := flow.Run(context.Background(), words(), &letter{}, flow.WithSeries())
	if err != nil {
		fmt.Println(err)
		return
	}
	done := report.Series.Nodes["words"].Done
	fmt.Println(report.Series.Interval, done[len(done)-1])
	// Output:
	// 1s 3
}

// Durations are in seconds, and tools can read it back.
func ExampleReport_json() {
	report := flow.Report{Action: "done", Last: "sign", Elapsed: 1500 * time.Millisecond, Steps: 2}
	text, err := json.Marshal(report)
	fmt.Println(string(text), err)
	var back flow.Report
	fmt.Println(json.Unmarshal(text, &back), back.Elapsed)
	// Output:
	// {"action":"done","last":"sign","elapsed_s":1.5,"steps":2,"nodes":null,"limiters":null} <nil>
	// <nil> 1.5s
}

// After a run its counts can be put into the drawing.
func ExampleShowCounts() {
	f := flow.New("count", words())
	report, err := flow.Run(context.Background(), f, &letter{})
	fmt.Println(err)
	fmt.Print(flow.Mermaid(f, flow.ShowLimits(), flow.ShowCounts(report)))
	// Output:
	// <nil>
	// flowchart TD
	//     subgraph n1["count"]
	//         n2["words (batch)<br/>3 done"]
	//     end
}
