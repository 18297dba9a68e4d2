package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/throttle"
)

// once makes one attempt, in the node's pool if it has one.
func (s *settings) once(ctx context.Context, c throttle.Cost, a *attempter, n int) error {
	if s.pool == nil {
		return s.onceHere(ctx, c, a, n)
	}
	lim, err := s.limiter()
	if err != nil {
		return err
	}
	return s.pool.Run(ctx, c, func(ctx context.Context) (err error) {
		defer panics.Catch(&err) // a Pool need not recover panics
		if lim != nil {
			return s.onceHere(ctx, c, a, n)
		}
		return s.sendOnce(ctx, a, n) // refusals are for the limiter of the pool
	})
}

// onceHere makes one attempt.
func (s *settings) onceHere(ctx context.Context, c throttle.Cost, a *attempter, n int) error {
	lim, err := s.limiter()
	if err != nil {
		return err
	}
	var refusal error
	if lim == nil {
		if lim, refusal, err = s.unlimited(ctx, a, n); lim == nil {
			return err
		}
	}
	if s.shared == nil && !s.limits() { // it was not there when the run began
		ctx = adaptive.Enclose(ctx, lim, s.propagate)
	}
	err = lim.Do(ctx, c, func(ctx context.Context) error {
		refusal = nil // it is sent again
		return s.sendOnce(ctx, a, n)
	})
	if err != nil && refusal != nil && (ended(ctx) != nil || lateIn(err) != nil) {
		return fmt.Errorf("%w while waiting to go again: %w", err, refusal)
	}
	return err
}

// sendOnce makes the attempt itself, inside of a limiter's call.
func (s *settings) sendOnce(ctx context.Context, a *attempter, n int) error {
	judge := func(err error) adaptive.Feedback { return adaptive.Judge(ctx, err) }
	sent, err := s.guarded(ctx, judge, func(ctx context.Context, t breaker.Ticket) error { return a.attempt(ctx, n, t) })
	switch {
	case !sent:
		adaptive.Report(ctx, adaptive.Feedback{Verdict: adaptive.Unsent})
	case judged(err):
		adaptive.Report(ctx, adaptive.Feedback{Verdict: adaptive.Transient})
	}
	return err
}

// unlimited makes an attempt of a node without a limiter. At the first refusal
// the node makes one, so that the item waits it out and goes again like any
// other, and a quota that is used up stops the others. The limiter is nil if
// err stands.
func (s *settings) unlimited(ctx context.Context, a *attempter, n int) (lim *adaptive.Limiter, refusal, err error) {
	began := time.Now()
	judge := func(err error) adaptive.Feedback { return adaptive.Classify(s.config.Detector, err) }
	sent, err := s.guarded(ctx, judge, func(ctx context.Context, t breaker.Ticket) error { return a.attempt(ctx, n, t) })
	if err == nil || !sent || judged(err) {
		return nil, nil, err
	}
	verdict := judge(err)
	switch verdict.Verdict {
	case adaptive.Hit, adaptive.Overloaded:
		refusal = &adaptive.RateLimitHit{
			Kind: verdict.Kind, RetryAfter: verdict.RetryAfter, Scope: s.name,
			Source: verdict.Source, SentAt: began, Cause: err,
		}
	case adaptive.Terminal:
	default:
		return nil, nil, err
	}
	lim, failed := s.build()
	if failed != nil {
		return nil, nil, failed
	}
	lim.Learn(adaptive.Enclose(ctx, lim, s.propagate), began, verdict)
	if verdict.Final {
		return nil, nil, err
	}
	return lim, refusal, nil
}

// judged reports whether err is not for a detector, which goes by the text if
// there is nothing else: a panic is no answer, each item of a batch inside
// has been judged there, and an attempt that was left behind is over.
func judged(err error) bool {
	if err == nil {
		return false
	}
	var panicked *fault.PanicError
	var batch *BatchError
	return errors.As(err, &panicked) || errors.As(err, &batch) || errors.Is(err, errAbandoned)
}
