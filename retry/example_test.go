package retry_test

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/headrace/headrace/retry"
)

// One item's attempts. A program waits for the delay, or until its context is
// done, where this example prints.
func Example() {
	policy := retry.Policy{MaxAttempts: 4, NoJitter: true}
	results := []error{errors.New("connection reset"), errors.New("bad gateway"), nil}

	schedule := policy.Start()
	for _, err := range results {
		delay, again := schedule.Next(err)
		fmt.Println(err, delay, again)
	}
	fmt.Println("attempts:", schedule.Attempts())
	// Output:
	// connection reset 500ms true
	// bad gateway 1s true
	// <nil> 0s false
	// attempts: 3
}

func ExamplePermanent() {
	errBadRequest := errors.New("bad request")
	err := fmt.Errorf("item 7: %w", retry.Permanent(errBadRequest))
	fmt.Println(err)
	fmt.Println(retry.Policy{}.Retries(err), errors.Is(err, errBadRequest))
	// Output:
	// item 7: bad request
	// false true
}

func ExamplePolicy_Validate() {
	policy := retry.Policy{Initial: time.Minute, Max: time.Second, Jitter: 1.5}
	fmt.Println(policy.Validate())
	// Output:
	// retry: Initial: 1m0s is longer than Max, 1s
	// retry: Jitter: 1.5; want 0 < Jitter < 1, or 0 for 0.5
}

func ExampleRetryAfter() {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for _, header := range []http.Header{
		{"Retry-After": {"20"}},
		{"Retry-After": {"1"}, "Retry-After-Ms": {"350"}},
		{"Retry-After": {"Sun, 01 Mar 2026 12:01:30 GMT"}},
		{"Retry-After": {"soon"}},
	} {
		fmt.Println(retry.RetryAfter(header, now))
	}
	// Output:
	// 20s true
	// 350ms true
	// 1m30s true
	// 0s false
}
