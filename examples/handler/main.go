// Handler: a batch as a type of its own, in a flow of three nodes.
//
// node.BatchFunc takes functions; node.NewBatch takes a type with the methods
// Prep, Exec and Post. A type is worth it when the batch has configuration, is
// used in several places, or says more about its items: here the optional
// method Cost tells the limiter how many tokens an item takes, so that the
// window of tokens per minute holds. A misspelt optional method is an error of
// the first run, not a method that is silently never called.
//
//	go run ./examples/handler
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// Doc is the state that the three nodes share.
type Doc struct {
	Text       string
	Paragraphs []string
	Summaries  []string
	Abstract   string
}

// Summarise shortens every paragraph of a Doc.
type Summarise struct {
	Words    int          // how many words a summary has
	failures atomic.Int64 // how often the provider still fails
}

// Should a method have the wrong type, this line says so best.
var _ node.BatchHandler[*Doc, string, string] = (*Summarise)(nil)

// Prep lists the items.
func (h *Summarise) Prep(_ context.Context, d *Doc) (iter.Seq2[string, error], error) {
	return node.Slice(d.Paragraphs), nil
}

// Exec works on one item. It never sees the Doc: several run at the same time.
func (h *Summarise) Exec(_ context.Context, paragraph string) (string, error) {
	if h.failures.Add(-1) >= 0 {
		return "", errors.New("connection reset") // the retry policy takes care of it
	}
	words := strings.Fields(paragraph)
	return strings.Join(words[:min(h.Words, len(words))], " "), nil
}

// Cost is optional: about four characters make a token.
func (h *Summarise) Cost(paragraph string) throttle.Cost {
	return throttle.Cost{Tokens: int64(len(paragraph)/4 + h.Words)}
}

// Post puts the results, which are in the order of the items, into the Doc.
func (h *Summarise) Post(_ context.Context, d *Doc, r *node.Report[string, string]) (node.Action, error) {
	d.Summaries = r.Values()
	return node.Next, r.Err()
}

func main() {
	split := node.Do("split", func(_ context.Context, d *Doc) error {
		d.Paragraphs = strings.Split(strings.TrimSpace(d.Text), "\n\n")
		return nil
	})
	handler := &Summarise{Words: 4}
	handler.failures.Store(2)
	summarise := node.NewBatch("summarise", handler).
		WithParallel(8).
		WithLimits(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(2000, time.Minute).Of(throttle.Tokens)}}).
		WithRetry(retry.Policy{MaxAttempts: 5, Initial: 10 * time.Millisecond})
	join := node.Do("join", func(_ context.Context, d *Doc) error {
		d.Abstract = strings.Join(d.Summaries, " ... ")
		return nil
	})

	d := &Doc{Text: "The river is dammed above the mill.\n\nA gate lets water in.\n\nIt turns the wheel and runs off."}
	report, err := flow.Run(context.Background(), flow.New("doc", split).Then(summarise).Then(join), d)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(d.Abstract)
	fmt.Println(report.Steps, "steps,", report.Nodes["summarise"].Done, "summaries,", report.Nodes["summarise"].Retries, "retries")
}
