package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// Calls nest: the call inside uses the slot of the one around it.
func ExampleGuard_Do() {
	images, err := guard.New(guard.Policy{Name: "images", Limits: throttle.Limits{Concurrency: 1}})
	if err != nil {
		panic(err)
	}
	err = images.Do(context.Background(), throttle.Cost{}, func(ctx context.Context) error {
		return images.Do(ctx, throttle.Cost{}, func(context.Context) error {
			fmt.Println("in flight:", images.Stats().InFlight)
			return nil
		})
	})
	fmt.Println(err)
	// Output:
	// in flight: 1
	// <nil>
}

// A used-up quota closes the guard. It is probed from time to time; Reset does
// not wait for that.
func ExampleGuard_Reset() {
	openai, err := guard.New(guard.Policy{Name: "openai"})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	for range 2 {
		err = openai.Do(ctx, throttle.Cost{}, func(context.Context) error {
			fmt.Println("sent")
			return errors.New("insufficient_quota")
		})
		fmt.Println(errors.Is(err, adaptive.ErrQuotaExhausted))
	}
	fmt.Println(openai.Reset())
	fmt.Println(openai.Do(ctx, throttle.Cost{}, func(context.Context) error { return nil }))
	// Output:
	// sent
	// true
	// true
	// <nil>
	// <nil>
}

// A call that may not wait for long gets the rejection as its error.
func ExamplePolicy_maxWait() {
	search, err := guard.New(guard.Policy{Name: "search", MaxWait: time.Second})
	if err != nil {
		panic(err)
	}
	sent := 0
	err = search.Do(context.Background(), throttle.Cost{}, func(context.Context) error {
		sent++
		return &adaptive.RateLimitHit{RetryAfter: time.Minute, Source: "status 429"}
	})
	if hit, ok := errors.AsType[*adaptive.RateLimitHit](err); ok {
		fmt.Println(hit.Scope, hit.RetryAfter, hit.Source)
	}
	fmt.Println("sent:", sent)
	// Output:
	// search 1m0s status 429
	// sent: 1
}

// A 429 inside a call of another guard lowers that one's concurrency too.
func ExamplePolicy_propagate() {
	documents, err := guard.New(guard.Policy{Name: "documents", Law: adaptive.AIMD{Initial: 8}})
	if err != nil {
		panic(err)
	}
	pages, err := guard.New(guard.Policy{Name: "pages", Propagate: true})
	if err != nil {
		panic(err)
	}
	attempts := 0
	err = documents.Do(context.Background(), throttle.Cost{}, func(ctx context.Context) error {
		return pages.Do(ctx, throttle.Cost{}, func(context.Context) error {
			if attempts++; attempts == 1 {
				return &adaptive.RateLimitHit{RetryAfter: time.Millisecond}
			}
			return nil
		})
	})
	fmt.Println(err, documents.Stats().View.Concurrency)
	// Output: <nil> 4
}

// What a header says is left is old when a long answer ends.
func ExampleCall_ApplyMeters() {
	api, err := guard.New(guard.Policy{Law: adaptive.Measured{}})
	if err != nil {
		panic(err)
	}
	call := api.Begin(throttle.Cost{})
	if _, err := call.Admit(context.Background()); err != nil {
		panic(err)
	}
	var meters [throttle.Units]adaptive.Meter
	meters[throttle.Requests] = adaptive.Meter{Known: true, Limit: 500, Remaining: 499, Reset: 120 * time.Millisecond}
	fmt.Println(call.ApplyMeters(meters))
	_, err = call.End(adaptive.Feedback{Verdict: adaptive.OK}) // when the answer has been read
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}

// outcomes is an observer of each call.
type outcomes struct{ event.Func }

func (outcomes) ObserveCall(c event.Call) { fmt.Println(c.Limiter, c.Outcome) }

func ExamplePolicy_observer() {
	api, err := guard.New(guard.Policy{Name: "api", Observer: outcomes{}, Limits: throttle.Limits{Concurrency: 8}})
	if err != nil {
		panic(err)
	}
	_ = api.Do(context.Background(), throttle.Cost{}, func(context.Context) error { return nil })
	// Output: api ok
}

// Another process makes the next attempt of a call.
func ExampleGuard_Attempt() {
	g, err := guard.New(guard.Policy{Retry: &retry.Policy{Initial: time.Second, NoJitter: true}})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := func(context.Context) error { return errors.New("connection reset") }
	next, again, err := g.Attempt(context.Background(), throttle.Cost{}, guard.Progress{}, call)
	text, _ := json.Marshal(next) // to be kept until next.Delay has passed
	fmt.Println(again, err, string(text))
	// Output:
	// true connection reset {"attempts":1,"failures":1,"delay":1000000000}
}
