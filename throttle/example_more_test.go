package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/throttle"
)

// A cost that can never be admitted fails at once instead of waiting forever.
func ExampleCostError() {
	lim, _ := throttle.New(throttle.Limits{
		Windows: []throttle.Window{throttle.Sliding(1000, time.Minute).Of(throttle.Tokens)},
	}, throttle.WithName("chat"))
	_, err := lim.Acquire(context.Background(), throttle.Cost{Tokens: 1500})
	fmt.Println(errors.Is(err, throttle.ErrCost), errors.Is(err, throttle.ErrLimited))
	if cost, ok := errors.AsType[*throttle.CostError](err); ok {
		fmt.Println(cost.Limiter, cost.Unit, cost.Amount, "of", cost.Max)
	}
	// Output:
	// true false
	// chat tokens 1500 of 1000
}

// Reopen does not forget: what was sent before Close still counts.
func ExampleLimiter_Reopen() {
	lim, _ := throttle.New(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(2, time.Hour)}})
	fmt.Println(lim.Allow(throttle.Cost{}))
	lim.Close(errors.New("maintenance"))
	fmt.Println(lim.Allow(throttle.Cost{}), lim.Stats().Closed)
	lim.Reopen()
	fmt.Println(lim.Allow(throttle.Cost{}), lim.Allow(throttle.Cost{}))
	// Output:
	// true
	// false maintenance
	// true false
}

// Calls that wait for the end of a pause are admitted as soon as it is called off.
func ExampleLimiter_Resume() {
	lim, _ := throttle.New(throttle.Limits{})
	lim.PauseUntil(time.Now().Add(time.Hour))
	fmt.Println(lim.Allow(throttle.Cost{}))
	lim.Resume()
	fmt.Println(lim.Wait(context.Background(), throttle.Cost{}), lim.Stats().PausedUntil.IsZero())
	// Output:
	// false
	// <nil> true
}

// An array can be indexed by unit.
func ExampleUnit() {
	var left [throttle.Units]int64
	left[throttle.Tokens] = 900
	for u := range throttle.Units {
		fmt.Println(u, left[u])
	}
	// Output:
	// requests 0
	// tokens 900
	// input tokens 0
	// output tokens 0
	// points 0
}

// Points are whatever a provider weighs: an image costs four here.
func ExampleUnit_points() {
	lim, _ := throttle.New(throttle.Limits{
		Windows: []throttle.Window{throttle.Sliding(10, time.Hour).Of(throttle.Points)},
	})
	image := throttle.Cost{Points: 4}
	fmt.Println(lim.Allow(image), lim.Allow(image), lim.Allow(image))
	fmt.Println(lim.Allow(throttle.Cost{}), "because text costs no points")
	// Output:
	// true true false
	// true because text costs no points
}

// Max is the most that one call may cost: split what is larger.
func ExampleWindow_Max() {
	window := throttle.Bucket(10, 400).Of(throttle.Tokens)
	for tokens := int64(1000); tokens > 0; {
		part := min(tokens, window.Max())
		fmt.Println(part, window.Unit())
		tokens -= part
	}
	// Output:
	// 400 tokens
	// 400 tokens
	// 200 tokens
}

func ExampleWindow_String() {
	fmt.Println(throttle.Sliding(100, time.Second))
	fmt.Println(throttle.Bucket(2.5, 10).Of(throttle.Tokens))
	// Output:
	// 100/s
	// bucket 2.5 tokens/s burst 10
}

// A call that can never pass is detected before it waits.
func ExampleLimiter_Check() {
	lim, _ := throttle.New(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(2, time.Minute)}})
	lim.Allow(throttle.Cost{Requests: 2})
	fmt.Println(lim.Check(throttle.Cost{Requests: 2})) // not now, but later
	fmt.Println(errors.Is(lim.Check(throttle.Cost{Requests: 3}), throttle.ErrCost))
	// Output:
	// <nil>
	// true
}
