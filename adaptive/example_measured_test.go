package adaptive_test

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// A documented limit is where learning starts. It is not a cap: the rate moves
// both ways with what the provider allows.
func ExampleMeasured() {
	api, err := guard.New(guard.Policy{Law: adaptive.Measured{
		Prior: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(600, time.Minute)}},
	}})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.1f requests/s\n", api.Stats().View.Pace[throttle.Requests])
	// Output: 9.7 requests/s
}

// Each decision of the controller is an event with its reason.
func ExampleMeasured_decisions() {
	api, _ := guard.New(guard.Policy{Name: "api", Observer: event.Func(func(e event.Event) {
		if e.Kind == event.LimiterCut {
			fmt.Println(e.Reason)
		}
	})})
	calls := 0
	_ = api.Do(context.Background(), throttle.Cost{}, func(context.Context) error {
		if calls++; calls == 1 {
			return &adaptive.RateLimitHit{Kind: adaptive.KindRequests, RetryAfter: time.Millisecond}
		}
		return nil
	})
	// Output: requests per second: measured between two refusals
}
