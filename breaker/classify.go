package breaker

import (
	"context"
	"errors"
	"fmt"
)

// rateLimited is how an error says, without an import, that it is a refusal
// for rate: adaptive.RateLimitHit and throttle.LimitedError have the method,
// and so may any other.
type rateLimited interface {
	error
	RateLimited() bool
}

// DefaultClassify classifies nil as Success and errors as Failure, except these, which
// are Undecided:
//
//   - an error that has, for errors.As, a method RateLimited() bool that returns true:
//     a rate-limit response never opens a breaker;
//   - context.Canceled, because the caller gave up;
//   - the *OpenError of another breaker inside, because nothing was sent.
//
// It knows no protocols. Over HTTP, classify a 400 as Success, since the server works,
// and use DefaultClassify for the rest.
func DefaultClassify(err error) Outcome {
	if err == nil {
		return Success
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, ErrOpen) {
		return Undecided
	}
	if r, ok := errors.AsType[rateLimited](err); ok && r.RateLimited() {
		return Undecided
	}
	return Failure
}

// outcome is what a call under ctx that ended with err says.
func (b *Breaker) outcome(ctx context.Context, err error) Outcome {
	switch {
	case err == nil:
		return Success
	case errors.Is(ctx.Err(), context.Canceled):
		return Undecided
	default:
		return b.ask(err)
	}
}

func (b *Breaker) ask(err error) (o Outcome) {
	defer func() {
		if recover() != nil { // in Classify, or in a method of err
			o = Failure
		}
	}()
	return b.classify(err)
}

// panicked is the failure of a call that panicked with v.
func panicked(v any) error {
	if err, ok := v.(error); ok {
		return fmt.Errorf("breaker: the call panicked: %w", err)
	}
	return fmt.Errorf("breaker: the call panicked: %v", v)
}
