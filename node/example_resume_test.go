package node_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

func shout(_ context.Context, text string) (string, error) {
	fmt.Println("call:", text)
	return text + "!", nil
}

func ExampleBatch_WithJournal() {
	j := journal.NewMemory() // store/sqlitestore keeps one in a file
	batch := node.Map("shout", shout).WithJournal(j)
	_, _ = batch.All(context.Background(), []string{"one", "two"})
	fmt.Println(batch.All(context.Background(), []string{"one", "two", "three"}))
	// Output:
	// call: one
	// call: two
	// call: three
	// [one! two! three!] <nil>
}

func ExampleBatch_WithVersion() {
	j := journal.NewMemory()
	_, _ = node.Map("shout", shout).WithJournal(j).WithVersion("prompt 1").All(context.Background(), []string{"one"})
	_, err := node.Map("shout", shout).WithJournal(j).WithVersion("prompt 2").All(context.Background(), []string{"one"})
	var version *journal.VersionError
	fmt.Println(errors.As(err, &version), version.Recorded)
	// Output:
	// call: one
	// true prompt 1
}

func ExampleBatch_RetryFailed() {
	j := journal.NewMemory()
	broken := errors.New("no route to host")
	call := func(_ context.Context, text string) (string, error) { return text + "!", broken }
	ctx := context.Background()
	_, _ = node.Map("call", call).WithJournal(j).All(ctx, []string{"one"})
	broken = nil
	_, err := node.Map("call", call).WithJournal(j).All(ctx, []string{"one"})
	fmt.Println(err)
	fmt.Println(node.Map("call", call).WithJournal(j).RetryFailed().All(ctx, []string{"one"}))
	// Output:
	// node "call": 1 of 1 items failed; first: item 0: it failed before, after 1 attempt: no route to host
	// [one!] <nil>
}

func ExampleBatch_Dedup() {
	batch := node.Map("shout", shout).WithJournal(journal.NewMemory()).Dedup()
	fmt.Println(batch.All(context.Background(), []string{"one", "one", "one"}))
	// Output:
	// call: one
	// [one! one! one!] <nil>
}

func ExampleBatch_WithSink() {
	sink := node.SinkFunc(func(_ context.Context, r node.Result[string, string]) error {
		fmt.Println("sink:", r.Out)
		return nil
	})
	batch := node.NewBatch("shout", shouts{}).WithSink(sink)
	_, err := batch.Run(context.Background(), []string{"one", "two"})
	fmt.Println(err)
	// Unordered output:
	// call: one
	// sink: one!
	// call: two
	// sink: two!
	// {2 2 0 0 0}
	// <nil>
}

func ExampleSinkFunc() {
	sum := 0
	sink := node.SinkFunc(func(_ context.Context, r node.Result[int, int]) error {
		sum += r.Out // one goroutine calls it at a time
		return nil
	})
	_, err := node.Map("square", func(_ context.Context, i int) (int, error) { return i * i, nil }).
		WithParallel(4).WithSink(sink).All(context.Background(), []int{1, 2, 3})
	fmt.Println(sum, err)
	// Output: 14 <nil>
}

func ExampleNewJSONLFile() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "results.jsonl")
	sink := node.NewJSONLFile[string, string](path)
	defer func() { _ = sink.Close() }()
	_, _ = node.Map("shout", shout).WithSink(sink).All(context.Background(), []string{"one"})
	text, err := os.ReadFile(path)
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// call: one
	// {"index":0,"state":"done","value":"one!","attempts":1}
	// <nil>
}

func ExampleReport_Leftover() {
	batch := node.NewBatch("shout", shouts{}).WithJournal(journal.NewMemory())
	_, _ = batch.Run(context.Background(), []string{"one", "two"})
	_, _ = batch.Run(context.Background(), []string{"one"})
	// Output:
	// call: one
	// call: two
	// {2 2 0 0 0}
	// {1 0 0 0 1}
	// left over: 1
}

// shouts is a batch over a slice.
type shouts struct{}

func (shouts) Prep(_ context.Context, texts []string) (iter.Seq2[string, error], error) {
	return node.Slice(texts), nil
}

func (shouts) Exec(ctx context.Context, text string) (string, error) { return shout(ctx, text) }

func (shouts) Post(_ context.Context, _ []string, r *node.Report[string, string]) (node.Action, error) {
	fmt.Println(r.Counts())
	if n := r.Leftover(); n > 0 {
		fmt.Println("left over:", n)
	}
	return node.Next, r.Err()
}
