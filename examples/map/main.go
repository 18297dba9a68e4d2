// Map: a function over a list, in parallel and within limits.
//
// This is the smallest use of headrace. node.Map takes a function that you
// have already, All calls it for every item of a slice and gives the results
// back in the order of the items. WithParallel is how many calls you would
// like to have in flight, WithLimits is what the provider allows; a call that
// the provider refuses all the same is waited out and sent again.
//
//	go run ./examples/map
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

// embed stands for a call of your provider's client.
func embed(_ context.Context, text string) ([]float32, error) {
	if text == "" {
		return nil, errors.New("nothing to embed")
	}
	vowels := 0
	for _, r := range text {
		if strings.ContainsRune("aeiou", r) {
			vowels++
		}
	}
	return []float32{float32(len(text)), float32(vowels)}, nil
}

func main() {
	vectors := node.Map("embed", embed).
		WithParallel(32).
		WithLimits(throttle.Limits{
			Concurrency: 8,
			Windows: []throttle.Window{
				throttle.Sliding(50, time.Second),
				throttle.Sliding(3000, time.Minute),
			},
		})

	words := []string{"headrace", "millpond", "sluice", "wheel", "tailrace"}
	out, err := vectors.All(context.Background(), words)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i, v := range out {
		fmt.Println(words[i], v)
	}

	// An item that fails leaves the others alone: its value is the zero value,
	// and the error says which it was.
	out, err = vectors.All(context.Background(), []string{"weir", "", "leat"})
	fmt.Println(out)
	if failed, ok := errors.AsType[*node.BatchError](err); ok {
		fmt.Println(failed.Counts.Done, "done,", failed.Counts.Failed, "failed:", failed.First[0])
	}
}
