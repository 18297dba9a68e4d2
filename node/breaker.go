package node

import (
	"context"
	"errors"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
)

// guarded makes one attempt if the node's breaker, if it has one, lets it
// through. If not, sent is false and err says why. judge says what an error
// means to the limiter.
func (s *settings) guarded(
	ctx context.Context, judge func(error) adaptive.Feedback, f func(context.Context, breaker.Ticket) error,
) (sent bool, err error) {
	if s.breaker == nil {
		return true, f(ctx, breaker.Ticket{})
	}
	ticket, err := s.breaker.Allow(ctx)
	if err != nil {
		return false, err
	}
	returned := false
	defer func() {
		if !returned { // runtime.Goexit
			ticket.Cancel()
		}
	}()
	err = f(ctx, ticket)
	count(ctx, ticket, judge, err)
	returned = true
	return true, err
}

// count ends the ticket of an attempt that ended with err.
func count(ctx context.Context, t breaker.Ticket, judge func(error) adaptive.Feedback, err error) {
	_, ofBatch := errors.AsType[*BatchError](err)
	_, panicked := errors.AsType[*fault.PanicError](err)
	switch {
	case errors.Is(err, errAbandoned): // ended by whoever left it behind
	case ofBatch:
		t.Cancel() // each of its items has been judged there
	case panicked:
		t.Failure(err)
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		t.Cancel()
	default:
		countAnswer(ctx, t, judge(err).Verdict, err)
	}
}

func countAnswer(ctx context.Context, t breaker.Ticket, v adaptive.Verdict, err error) {
	switch v {
	case adaptive.OK:
		t.Success()
	case adaptive.Transient:
		t.Failure(err)
	case adaptive.Hit, adaptive.Overloaded, adaptive.Terminal, adaptive.Unsent:
		t.Cancel()
	case adaptive.Unclassified:
		t.End(ctx, err)
	}
}

// openIn returns the refusal of a breaker in err, or nil.
func openIn(err error) *breaker.OpenError {
	open, _ := errors.AsType[*breaker.OpenError](err)
	return open
}
