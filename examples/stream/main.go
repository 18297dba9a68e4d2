// Stream: a file of requests in, results out as they come.
//
// node.JSONL reads one request a line, Stream works on them in parallel and
// yields the results in the order of the input; neither ever holds more than
// a few. Mind the two errors: the one beside a result is that of the whole run
// and comes last, the one inside a result is that of one item. A line that
// cannot be read fails alone, as an item.
//
//	go run ./examples/stream
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

//go:embed requests.jsonl
var requests []byte // your program opens a file

// Request is one line of the input.
type Request struct {
	ID   string `json:"custom_id"`
	Text string `json:"text"`
}

// Answer is one line of the output.
type Answer struct {
	ID     string `json:"custom_id"`
	Answer string `json:"answer"`
}

// ask stands for a call of your provider's client.
func ask(_ context.Context, r Request) (Answer, error) {
	if r.Text == "" {
		return Answer{}, errors.New("the request is empty")
	}
	return Answer{r.ID, strings.ToUpper(r.Text)}, nil
}

func main() {
	answers := node.Map("ask", ask).
		WithParallel(16).
		WithLimits(throttle.Limits{Concurrency: 4}).
		WithKey(func(r Request) string { return r.ID })

	out := json.NewEncoder(os.Stdout)
	failed := 0
	for r, err := range answers.Stream(context.Background(), node.JSONL[Request](bytes.NewReader(requests))) {
		switch {
		case err != nil: // the run
			fmt.Println("stopped:", err)
			os.Exit(1)
		case r.Err != nil: // one item
			failed++
			if line, ok := errors.AsType[*node.InputError](r.Err); ok {
				fmt.Println("line", line.Line, "is not a request")
			} else {
				fmt.Println("request", r.Key, "failed:", r.Err)
			}
		default:
			if err := out.Encode(r.Out); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
	}
	fmt.Println(failed, "failed")
}
