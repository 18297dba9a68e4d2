// Detector: how headrace learns what a refusal looks like.
//
// The default detector knows HTTP status codes and the errors of the usual
// SDKs. An API with errors of its own needs a detector: a function that looks
// at an error and says Hit, with the wait that the provider asked for, or
// nothing if it does not know the error. A hit is waited out and sent again;
// the item neither fails nor uses up a retry. Any other error still fails.
//
//	go run ./examples/detector
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/node"
)

// Error is how this API says no. It has no HTTP status.
type Error struct {
	Code string
	Wait time.Duration
}

// Error implements error.
func (e *Error) Error() string { return "api: " + e.Code }

// detect is asked about every error, before the default detector.
func detect(err error) adaptive.Feedback {
	var e *Error
	if errors.As(err, &e) && e.Code == "SLOW_DOWN" {
		return adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: e.Wait}
	}
	return adaptive.Feedback{} // not mine
}

// api refuses every third call, and has no square of 4.
type api struct{ calls int }

func (a *api) square(_ context.Context, n int) (int, error) {
	a.calls++
	switch {
	case a.calls%3 == 0:
		return 0, fmt.Errorf("square %d: %w", n, &Error{"SLOW_DOWN", 20 * time.Millisecond})
	case n == 4:
		return 0, &Error{Code: "NOT_FOUND"}
	default:
		return n * n, nil
	}
}

func main() {
	a := &api{}
	squares := node.Map("square", a.square).WithDetector(detect)

	hits := 0
	ctx := event.With(context.Background(), event.Func(func(e event.Event) {
		if e.Kind == event.LimiterHit { // the items come one after the other here, else a lock is needed
			hits++
			fmt.Println("refused:", e.Err)
		}
	}))
	out, err := squares.All(ctx, []int{1, 2, 3, 4, 5})
	fmt.Println(out)
	fmt.Println(err)
	fmt.Println(a.calls, "calls for 5 items,", hits, "of them refused")
}
