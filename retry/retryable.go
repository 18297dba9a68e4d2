package retry

import (
	"context"
	"errors"

	"github.com/cenkalti/backoff/v5"
)

// Permanent marks err as one that no policy retries. errors.Is, errors.As and
// the message see through the mark; a nil err stays nil.
//
// The mark is backoff.PermanentError, so that errors which were marked by
// backoff.Permanent are honoured here, and those marked here by a loop of
// backoff.Retry around the call.
func Permanent(err error) error { return backoff.Permanent(err) }

func isPermanent(err error) bool {
	var p *backoff.PermanentError
	return errors.As(err, &p)
}

// DefaultRetryable says whether err is worth another attempt where a policy
// has no Retryable of its own: every error is, except
//
//   - nil;
//   - what [Permanent] marked, anywhere in the tree of err;
//   - context.Canceled: nobody cancels a call whose result is wanted.
//
// context.DeadlineExceeded is retried, because it is how an attempt ends that
// ran into its own timeout, and an error cannot tell whose deadline it was.
// The caller can: it looks at its own context before it waits and does not go
// on when that is done.
func DefaultRetryable(err error) bool {
	return err != nil && !isPermanent(err) && !errors.Is(err, context.Canceled)
}

// Retries reports whether err is worth another attempt under p, however many
// were made. It never is if it is nil, marked by [Permanent] or named by
// p.Except; otherwise p.Retryable decides. It is safe for concurrent use, and
// false if Retryable, or an Is or As method of err, panics.
func (p Policy) Retries(err error) (again bool) {
	if err == nil {
		return false
	}
	defer func() {
		if recover() != nil {
			again = false
		}
	}()
	if isPermanent(err) {
		return false
	}
	for _, except := range p.Except {
		if errors.Is(err, except) {
			return false
		}
	}
	if p.Retryable != nil {
		return p.Retryable(err)
	}
	return DefaultRetryable(err)
}
