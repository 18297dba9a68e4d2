// Streaming: input without an end, results as they come, and never more than a
// few items in memory.
//
// There are two ways. Stream yields the results to a loop: it reads ahead of the
// loop by WithWindow items and no more, so a slow loop slows the calls down, and
// break stops them. A sink takes the results of a batch in a flow, such as a
// batch of flows; the report then keeps counts, and no values (sink.go).
//
// Mind the two errors of Stream: the one in a result is that of one item, the
// one beside it is that of the whole run and comes last.
//
//	go run ./examples/streaming
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/headrace/headrace/node"
)

//go:embed requests.jsonl
var requests []byte // your program opens a file

// Request is one line of the input.
type Request struct {
	ID   string `json:"custom_id"`
	Text string `json:"text"`
}

// ask stands for a call of your provider's client.
func ask(_ context.Context, r Request) (string, error) {
	if r.Text == "" {
		return "", errors.New("the request is empty")
	}
	return strings.ToUpper(r.Text), nil
}

// file streams a file of requests, a line each, to its end.
func file(ctx context.Context) error {
	answers := node.Map("ask", ask).
		WithParallel(16).
		WithKey(func(r Request) string { return r.ID })
	for r, err := range answers.Stream(ctx, node.JSONL[Request](bytes.NewReader(requests))) {
		if err != nil { // the run, at its end
			return err
		}
		if line, ok := errors.AsType[*node.InputError](r.Err); ok {
			fmt.Println("line", line.Line, "is not a request")
		} else if r.Err != nil { // one item; the others go on
			fmt.Println("request", r.Key, "failed:", r.Err)
		} else {
			fmt.Println("request", r.Key+":", r.Out)
		}
	}
	return nil
}

// watch streams the levels of a pond, which never end, until one is too low.
func watch(ctx context.Context) error {
	read := 0
	levels := func(yield func(int) bool) { // a feed, a queue, a table: whatever has a next item
		for yield(100 - read/20) {
			read++
		}
	}
	judge := node.Map("judge", func(_ context.Context, level int) (dry bool, err error) { return level < 60, nil }).
		WithParallel(4).
		WithWindow(10)

	seen := 0
	for r, err := range judge.Stream(ctx, node.Seq(levels)) {
		if err != nil {
			return err
		}
		seen++
		if r.Out {
			fmt.Println("reading", r.Index, "is too low:", r.In)
			break // stops the calls and the reading, and leaks nothing
		}
	}
	fmt.Println("read ahead, at most by the window:", read-seen <= 10)
	return nil
}

func main() {
	ctx := context.Background()
	if err := errors.Join(file(ctx), watch(ctx), sinks(ctx)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
