package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/throttle"
)

// once makes one attempt.
func (s *settings) once(ctx context.Context, c throttle.Cost, f func(context.Context, breaker.Ticket) error) error {
	lim, err := s.limiter()
	if err != nil {
		return err
	}
	var refusal error
	if lim == nil {
		if lim, refusal, err = s.unlimited(ctx, f); lim == nil {
			return err
		}
	}
	if s.shared == nil && !s.limits() { // it was not there when the run began
		ctx = adaptive.Enclose(ctx, lim, s.propagate)
	}
	err = lim.Do(ctx, c, func(ctx context.Context) error {
		refusal = nil // it is sent again
		judge := func(err error) adaptive.Feedback { return adaptive.Judge(ctx, err) }
		sent, err := s.guarded(ctx, judge, f)
		switch {
		case !sent:
			adaptive.Report(ctx, adaptive.Feedback{Verdict: adaptive.Unsent})
		case judged(err):
			adaptive.Report(ctx, adaptive.Feedback{Verdict: adaptive.Transient})
		}
		return err
	})
	if err != nil && refusal != nil && (ended(ctx) != nil || lateIn(err) != nil) {
		return fmt.Errorf("%w while waiting to go again: %w", err, refusal)
	}
	return err
}

// unlimited makes an attempt of a node without a limiter. At the first refusal
// the node makes one, so that the item waits it out and goes again like any
// other, and a quota that is used up stops the others. The limiter is nil if
// err stands.
func (s *settings) unlimited(ctx context.Context, f func(context.Context, breaker.Ticket) error) (lim *adaptive.Limiter, refusal, err error) {
	began := time.Now()
	judge := func(err error) adaptive.Feedback { return adaptive.Classify(s.config.Detector, err) }
	sent, err := s.guarded(ctx, judge, f)
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
	var panicked *PanicError
	var batch *BatchError
	return errors.As(err, &panicked) || errors.As(err, &batch) || errors.Is(err, errAbandoned)
}
