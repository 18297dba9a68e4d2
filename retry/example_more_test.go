package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/headrace/headrace/retry"
)

// What is not a number of seconds or a date is refused, not guessed at.
func ExampleParseRetryAfter() {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for _, v := range []string{"120", " 1.5 ", "Sun, 01 Mar 2026 12:00:45 GMT", "Sun, 01 Mar 2026 11:00:00 GMT", "-3", "1e3"} {
		fmt.Println(retry.ParseRetryAfter(v, now))
	}
	// Output:
	// 2m0s true
	// 1.5s true
	// 45s true
	// 0s true
	// 0s false
	// 0s false
}

// Retryable names what is worth another attempt, Except what is not. Except
// and Permanent have the last word.
func ExamplePolicy_Retries() {
	only := retry.Policy{Retryable: func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }}
	fmt.Println(only.Retries(io.ErrUnexpectedEOF), only.Retries(errors.New("bad gateway")))

	all := retry.Policy{Except: []error{fs.ErrNotExist}}
	fmt.Println(all.Retries(fmt.Errorf("item 7: %w", fs.ErrNotExist)), all.Retries(errors.New("bad gateway")))
	// Output:
	// true false
	// false true
}

// Retryable may refine the default instead of replacing it.
func ExampleDefaultRetryable() {
	for _, err := range []error{
		errors.New("bad gateway"),
		context.DeadlineExceeded, // the timeout of the attempt
		context.Canceled,
		retry.Permanent(errors.New("bad request")),
	} {
		fmt.Println(err, retry.DefaultRetryable(err))
	}
	policy := retry.Policy{Retryable: func(err error) bool {
		return !errors.Is(err, context.DeadlineExceeded) && retry.DefaultRetryable(err)
	}}
	fmt.Println(policy.Retries(context.DeadlineExceeded))
	// Output:
	// bad gateway true
	// context deadline exceeded true
	// context canceled false
	// bad request false
	// false
}

// Do is the loop around a call that is not limited.
func ExampleDo() {
	attempts := 0
	err := retry.Do(context.Background(), retry.Policy{Initial: time.Millisecond}, func(context.Context) error {
		if attempts++; attempts < 3 {
			return io.ErrUnexpectedEOF
		}
		return nil
	})
	fmt.Println(err, attempts)
	// Output: <nil> 3
}
