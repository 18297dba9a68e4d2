package adaptive_test

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/throttle"
)

// A limit that is documented is where learning starts. It is no cap: what the
// provider really takes moves the pace both ways.
func ExampleMeasured() {
	lim, err := adaptive.New(adaptive.Config{Law: adaptive.Measured{
		Prior: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(600, time.Minute)}},
	}})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.1f requests/s\n", lim.View().Pace[throttle.Requests])
	// Output: 9.7 requests/s
}

// What one run has learnt, the next begins with.
func ExampleLimiter_Save() {
	law := adaptive.Measured{Prior: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(25, 5)}}}
	lim, _ := adaptive.New(adaptive.Config{Law: law})
	saved, err := lim.Save()
	if err != nil {
		panic(err)
	}

	next, _ := adaptive.New(adaptive.Config{})
	if err := next.Restore(saved); err != nil {
		panic(err)
	}
	fmt.Printf("%.2f requests/s\n", next.View().Pace[throttle.Requests])
	// Output: 24.25 requests/s
}

// Each decision of the law is an event with its reason.
func ExampleDecision() {
	lim, _ := adaptive.New(adaptive.Config{Name: "api"}, adaptive.WithObserver(event.Func(func(e event.Event) {
		if e.Kind == event.LimiterCut {
			fmt.Println(e.Reason)
		}
	})))
	calls := 0
	_ = lim.Do(context.Background(), throttle.Cost{}, func(context.Context) error {
		if calls++; calls == 1 {
			return &adaptive.RateLimitHit{Kind: adaptive.KindRequests, RetryAfter: time.Millisecond}
		}
		return nil
	})
	// Output: requests per second: what got through between two refusals is the rate
}
