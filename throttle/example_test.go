package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/throttle"
)

func Example() {
	lim, err := throttle.New(throttle.Limits{
		Concurrency: 8,
		Windows: []throttle.Window{
			throttle.Sliding(500, time.Minute),
			throttle.Sliding(200_000, time.Minute).Of(throttle.Tokens),
		},
	}, throttle.WithName("chat"))
	if err != nil {
		fmt.Println(err)
		return
	}
	ask := func(ctx context.Context, prompt string) error {
		p, err := lim.Acquire(ctx, throttle.Cost{Tokens: 900})
		if err != nil {
			return err // ctx ended, or the cost can never fit: nothing was taken
		}
		defer p.Release()
		fmt.Println("asking:", prompt)
		return nil
	}
	err = ask(context.Background(), "what is a headrace?")
	fmt.Println(err, lim.Stats().InFlight)
	// Output:
	// asking: what is a headrace?
	// <nil> 0
}

// All problems of a configuration come at once, each with the name of its field.
func ExampleNew() {
	_, err := throttle.New(throttle.Limits{
		Concurrency: -1,
		Windows:     []throttle.Window{throttle.Sliding(0, time.Minute)},
	})
	fmt.Println(err)
	var field *fault.FieldError
	fmt.Println(errors.As(err, &field), field.Field)
	// Output:
	// throttle: Concurrency: -1 is negative: use 0 for unbounded, or at least 1
	// throttle: Windows[0].Max: 0 is not between 1 and 1099511627776
	// true Concurrency
}

func ExampleLimiter_Acquire() {
	lim, _ := throttle.New(throttle.Limits{Concurrency: 1})
	p, err := lim.Acquire(context.Background(), throttle.Cost{})
	fmt.Println(err, lim.Stats().InFlight)

	// The slot is taken. A context that ends takes nothing.
	closing := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(closing)
	_, err = lim.Acquire(ctx, throttle.Cost{})
	fmt.Println(err)

	p.Release()
	fmt.Println(lim.Stats().InFlight)
	// Output:
	// <nil> 1
	// shutting down
	// 0
}

func ExampleLimiter_TryAcquire() {
	clock := clockwork.NewFakeClock()
	lim, _ := throttle.New(throttle.Limits{
		Windows: []throttle.Window{throttle.Sliding(1, time.Minute)},
	}, throttle.WithName("search"), throttle.WithClock(clock))

	p, err := lim.TryAcquire(throttle.Cost{})
	fmt.Println(err)
	p.Release()

	clock.Advance(20 * time.Second)
	_, err = lim.TryAcquire(throttle.Cost{})
	if limited, ok := errors.AsType[*throttle.LimitedError](err); ok {
		fmt.Println(err)
		clock.Advance(limited.RetryAfter)
	}
	_, err = lim.TryAcquire(throttle.Cost{})
	fmt.Println(err)
	// Output:
	// <nil>
	// throttle: limiter "search": limited by 1/min, retry after 40s
	// <nil>
}

func ExampleLimiter_Allow() {
	clock := clockwork.NewFakeClock()
	lim, _ := throttle.New(throttle.Limits{
		Windows: []throttle.Window{throttle.Bucket(1, 2)},
	}, throttle.WithClock(clock))

	fmt.Println(lim.Allow(throttle.Cost{}), lim.Allow(throttle.Cost{}), lim.Allow(throttle.Cost{}))
	clock.Advance(time.Second)
	fmt.Println(lim.Allow(throttle.Cost{}), lim.Allow(throttle.Cost{}))
	// Output:
	// true true false
	// true false
}

func ExampleLimiter_Wait() {
	lim, _ := throttle.New(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(10, time.Second)}})
	for range 3 {
		if err := lim.Wait(context.Background(), throttle.Cost{}); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(lim.Stats().Admitted)
	// Output: 3
}

func ExampleWindow_Of() {
	lim, _ := throttle.New(throttle.Limits{Windows: []throttle.Window{
		throttle.Sliding(500, time.Minute),                        // requests
		throttle.Sliding(30_000, time.Minute).Of(throttle.Tokens), // of input and output together
		throttle.Bucket(100, 8_000).Of(throttle.OutputTokens),     // refilled steadily
		throttle.Sliding(50, 24*time.Hour).Of(throttle.Points),    // whatever the provider weighs
	}}, throttle.WithName("chat"))
	for _, w := range lim.Limits().Windows {
		fmt.Println(w)
	}
	_, err := lim.TryAcquire(throttle.Cost{Input: 25_000, Output: 9_000})
	fmt.Println(err)
	// Output:
	// 500/min
	// 30000 tokens/min
	// bucket 100 output tokens/s burst 8000
	// 50 points/day
	// throttle: limiter "chat": a cost of 34000 tokens never fits the window of 30000 tokens/min: split the call or raise the limit
}

func ExampleCost_Of() {
	c := throttle.Cost{Input: 700, Output: 200}
	fmt.Println(c.Of(throttle.Requests), c.Of(throttle.Tokens), c.Of(throttle.Points))
	// Output: 1 900 0
}

// Reserve what a call may cost at most, then settle what it did cost.
func ExamplePermit_Settle() {
	lim, _ := throttle.New(throttle.Limits{
		Windows: []throttle.Window{throttle.Sliding(1000, time.Minute).Of(throttle.Tokens)},
	}, throttle.WithClock(clockwork.NewFakeClock()))

	p, _ := lim.TryAcquire(throttle.Cost{Tokens: 900})
	fmt.Println(lim.Allow(throttle.Cost{Tokens: 300}))
	p.Settle(throttle.Cost{Input: 500, Output: 100}) // from the response
	fmt.Println(lim.Allow(throttle.Cost{Tokens: 300}))
	// Output:
	// false
	// true
}

func ExamplePermit_Cancel() {
	lim, _ := throttle.New(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Hour)}})
	p, _ := lim.TryAcquire(throttle.Cost{})
	p.Cancel() // it was never sent, so it does not count
	fmt.Println(lim.Allow(throttle.Cost{}), lim.Allow(throttle.Cost{}))
	// Output: true false
}

// New limits hold at once, and what was admitted lately still counts.
func ExampleLimiter_SetLimits() {
	lim, _ := throttle.New(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(100, time.Hour)}})
	for range 5 {
		lim.Allow(throttle.Cost{})
	}
	lower := throttle.Limits{Windows: []throttle.Window{throttle.Sliding(6, time.Hour)}}
	fmt.Println(lim.SetLimits(lower))
	fmt.Println(lim.Allow(throttle.Cost{}), lim.Allow(throttle.Cost{}))
	// Output:
	// <nil>
	// true false
}

func ExampleLimiter_SetConcurrency() {
	lim, _ := throttle.New(throttle.Limits{Concurrency: 1})
	_, _ = lim.TryAcquire(throttle.Cost{})
	_, err := lim.TryAcquire(throttle.Cost{})
	fmt.Println(err)
	_ = lim.SetConcurrency(2)
	_, err = lim.TryAcquire(throttle.Cost{})
	fmt.Println(err)
	// Output:
	// throttle: limiter "": limited by the concurrency until a call ends
	// <nil>
}

func ExampleLimiter_PauseUntil() {
	clock := clockwork.NewFakeClock()
	lim, _ := throttle.New(throttle.Limits{}, throttle.WithClock(clock))
	lim.PauseUntil(clock.Now().Add(30 * time.Second)) // a Retry-After
	lim.PauseUntil(clock.Now().Add(10 * time.Second)) // shortens nothing
	_, err := lim.TryAcquire(throttle.Cost{})
	fmt.Println(err)

	lim.Resume() // ends it
	fmt.Println(lim.Allow(throttle.Cost{}))
	// Output:
	// throttle: limiter "": limited by a pause, retry after 30s
	// true
}

func ExampleLimiter_Close() {
	lim, _ := throttle.New(throttle.Limits{})
	lim.Close(errors.New("the month's credit is used up"))
	fmt.Println(lim.Wait(context.Background(), throttle.Cost{}))
	lim.Reopen()
	fmt.Println(lim.Wait(context.Background(), throttle.Cost{}))
	// Output:
	// the month's credit is used up
	// <nil>
}

func ExampleLimiter_Stats() {
	clock := clockwork.NewFakeClock()
	lim, _ := throttle.New(throttle.Limits{Concurrency: 1}, throttle.WithClock(clock))
	_, _ = lim.TryAcquire(throttle.Cost{})
	lim.Allow(throttle.Cost{})
	s := lim.Stats()
	fmt.Println(s.InFlight, s.Admitted, s.Refused)

	lim.Reset()
	s = lim.Stats()
	fmt.Println(s.InFlight, s.Admitted, s.Refused)
	// Output:
	// 1 1 1
	// 1 0 0
}
