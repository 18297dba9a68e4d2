package retry

import (
	"context"
	"errors"

	"github.com/cenkalti/backoff/v5"
)

// Permanent wraps err so that no policy retries it, with the same message; nil stays nil.
// The mark is a *backoff.PermanentError, which backoff.Retry honours too.
func Permanent(err error) error { return backoff.Permanent(err) }

func isPermanent(err error) bool {
	var p *backoff.PermanentError
	return errors.As(err, &p)
}

// DefaultRetryable reports true for every error except nil, errors marked by
// [Permanent] and context.Canceled. It retries context.DeadlineExceeded, which may be the
// timeout of one attempt: check your own context before you wait.
func DefaultRetryable(err error) bool {
	return err != nil && !isPermanent(err) && !errors.Is(err, context.Canceled)
}

// Retries reports whether p retries err, regardless of the number of attempts. It
// returns false if Retryable or a method of err panics. Safe for concurrent use.
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
