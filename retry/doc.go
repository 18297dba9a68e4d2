// Package retry decides whether a failed call is repeated, and after what delay.
//
// A [Policy] is configuration and can be shared. A [Schedule] counts the attempts of one
// item. [Do] is the loop for a single call. Nothing else here waits or reads a
// clock: the caller does, and checks its own context before each attempt:
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
// Do not pass rate-limit responses to a Schedule: the limiter waits and sends again.
// [RetryAfter] and [ParseRetryAfter] read how long.
//
// The delays are those of github.com/cenkalti/backoff.
package retry
