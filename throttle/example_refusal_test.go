package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/throttle"
)

// A quota that is reset at midnight in California, on a day of 23 hours.
func ExampleFixed() {
	california, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		fmt.Println(err)
		return
	}
	midnight := time.Date(2026, time.January, 1, 0, 0, 0, 0, california)
	clock := clockwork.NewFakeClockAt(time.Date(2026, time.March, 8, 0, 0, 0, 0, california))
	lim, _ := throttle.New(throttle.Limits{Windows: []throttle.Window{throttle.Fixed(1500, 24*time.Hour, midnight)}},
		throttle.WithClock(clock))
	lim.Allow(throttle.Cost{Requests: 1500})
	_, err = lim.TryAcquire(throttle.Cost{})
	fmt.Println(err)
	// Output: throttle: limiter "": limited by fixed 1500/day@America/Los_Angeles, retry after 23h0m0s
}

// A call that cannot be made in time is not waited for.
func ExampleDeadlineError() {
	limits, _ := throttle.ParseLimits("1/h")
	lim, _ := throttle.New(limits, throttle.WithName("reports"))
	lim.Allow(throttle.Cost{})

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := lim.Acquire(ctx, throttle.Cost{})
	if late, ok := errors.AsType[*throttle.DeadlineError](err); ok {
		fmt.Println("try again in", late.Wait.Round(time.Hour))
	}
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output:
	// try again in 1h0m0s
	// true
}

// A provider judges by when calls arrive: they may come closer on their way.
func ExampleWithMargin() {
	clock := clockwork.NewFakeClock()
	limits, _ := throttle.ParseLimits("1/s")
	lim, _ := throttle.New(limits, throttle.WithMargin(50*time.Millisecond), throttle.WithClock(clock))
	lim.Allow(throttle.Cost{})
	clock.Advance(time.Second)
	fmt.Println(lim.Allow(throttle.Cost{}))
	clock.Advance(50 * time.Millisecond)
	fmt.Println(lim.Allow(throttle.Cost{}))
	// Output:
	// false
	// true
}
