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

// DefaultClassify takes nil for a Success and every error for a Failure, except
// for these, which are Undecided:
//
//   - an error in whose tree errors.As finds a method RateLimited() bool that
//     returns true: a refusal for rate never opens a breaker;
//   - context.Canceled, because somebody on this side gave up;
//   - the refusal of another breaker further in: nothing was sent.
//
// It knows nothing of protocols. Whoever calls over HTTP should take a 400 for
// a Success, since the server answers, and leave the rest to DefaultClassify.
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
