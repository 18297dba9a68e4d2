// Package retry decides whether a failed call is worth another attempt, and
// how long to wait before it.
//
// A [Policy] is configuration: a value that may be shared by everybody. A
// [Schedule] is what one item has used up of it, so that the failures of one
// item never eat the attempts of another. The package neither waits nor reads
// a clock; the caller does, and looks at its own context before each attempt:
//
//	s := policy.Start()
//	for {
//		err := call(ctx)
//		delay, again := s.Next(err)
//		if !again {
//			return err
//		}
//		if err := wait(ctx, delay); err != nil {
//			return err
//		}
//	}
//
// A provider's refusal for rate is not a failure: the limiter waits and sends
// again without asking a Schedule. [RetryAfter] and [ParseRetryAfter] read how
// long the provider wants it to wait.
//
// The durations come from github.com/cenkalti/backoff.
package retry
