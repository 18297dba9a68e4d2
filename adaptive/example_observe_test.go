package adaptive_test

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/throttle"
)

// latency is an observer that wants to know of each call.
type latency struct{ event.Func }

func (latency) ObserveCall(c event.Call) { fmt.Println(c.Limiter, c.Outcome) }

func ExampleWithObserver_calls() {
	l, err := adaptive.New(adaptive.Config{Name: "api", Limits: throttle.Limits{Concurrency: 1}}, adaptive.WithObserver(latency{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = l.Do(context.Background(), throttle.Cost{}, func(context.Context) error { return nil })
	// Output: api ok
}
