package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// perform works on t until it has ended. w is nil if the slot is lent.
func (x *Executor) perform(t *record, w *worker) {
	var now time.Duration
	if w != nil {
		now = w.now
	}
	if now == 0 {
		now = x.clock.Elapsed()
	}
	ctx, undo := t.begin(now, !x.limited.Load() && x.config.Breaker == nil)
	defer func() {
		t.scope().close()
		t.job.release()
		if undo != nil {
			undo()
		}
	}()
	x.tellTask(t, event.TaskStarted, nil)
	err := x.attempts(ctx, t, w)
	now = x.clock.Elapsed()
	x.concludeAt(t, outcome(ctx, err), err, now)
	if w != nil {
		w.now = now
	}
}

// attempts makes the call until it succeeds or the policy has no more. Between
// two attempts nothing is held.
func (x *Executor) attempts(ctx context.Context, t *record, w *worker) (err error) {
	defer panics.Catch(&err) // of the functions of a Config
	var schedule *retry.Schedule
	for {
		if !t.calling && ctx.Err() != nil {
			return orCause(ctx, err)
		}
		err = x.once(ctx, t)
		if err == nil || x.config.Retry == nil || t.single || ctx.Err() != nil || t.state().Terminal() ||
			final(err) || tooLate(ctx, err) || x.answered(err) {
			return err
		}
		if schedule == nil {
			schedule = x.config.Retry.Start()
		}
		delay, again := schedule.Next(err)
		if !again {
			return err
		}
		if open, ok := errors.AsType[*breaker.OpenError](err); ok {
			delay += open.RetryAfter // those who waited for the probe do not all become it
		}
		t.again(delay, err)
		x.tellTask(t, event.TaskRetry, func(e *event.Event) { e.Wait, e.Err = delay, err })
		x.rest(w)
		x.sleep(ctx, delay)
		if !x.rise(ctx, w) {
			return orCause(ctx, err)
		}
	}
}

// orCause is why ctx ended, with the last error before that, if there is one.
func orCause(ctx context.Context, last error) error {
	if last == nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w before another attempt after: %w", context.Cause(ctx), last)
}

// final reports whether err is one that no policy is asked about: another
// attempt would find the same.
func final(err error) bool {
	return errors.As(err, new(*fault.PanicError)) || errors.As(err, new(*adaptive.RateLimitHit)) ||
		errors.Is(err, adaptive.ErrQuotaExhausted) || errors.Is(err, throttle.ErrCost)
}

// tooLate reports whether err says that the call can only be admitted when ctx is over.
func tooLate(ctx context.Context, err error) bool {
	late, ok := errors.AsType[*throttle.DeadlineError](err)
	end, has := ctx.Deadline()
	return ok && has && time.Now().Add(late.Wait).After(end)
}

// answered reports whether err is an answer to the call, such as a 400, that
// another attempt would get again. A Retryable of the policy's own knows better.
func (x *Executor) answered(err error) bool {
	if x.config.Retry.Retryable != nil || errors.As(err, new(*breaker.OpenError)) {
		return false
	}
	f := x.limiter.Classify(err)
	return f.Verdict == adaptive.OK || f.Final
}

// sleep waits for d, or until ctx ends.
func (x *Executor) sleep(ctx context.Context, d time.Duration) {
	woken := make(chan struct{})
	timer := x.clock.AfterFunc(d, func() { close(woken) })
	defer timer.Stop()
	in, _ := intake.Of(ctx)
	select {
	case <-woken:
	case <-ctx.Done():
	case <-in.Done():
	}
}

// once makes one attempt, which a limiter may make several.
func (x *Executor) once(ctx context.Context, t *record) error {
	if !x.limited.Load() {
		if over, err := x.unlimited(ctx, t); over {
			return err
		}
	}
	if t.calling { // the limits have come in between
		t.waits()
	}
	bound := x.limiter.Throttle().Bound(t.reserves())
	return x.limiter.Do(ctx, t.reserves(), func(ctx context.Context) error {
		t.admitted(bound)
		bound = throttle.Bound{}
		judge := func(err error) adaptive.Feedback { return adaptive.Judge(ctx, err) }
		sent, err := x.guarded(ctx, t, true, judge)
		switch {
		case !sent:
			adaptive.Report(ctx, adaptive.Feedback{Verdict: adaptive.Unsent})
		case err != nil && errors.As(err, new(*fault.PanicError)):
			adaptive.Report(ctx, adaptive.Feedback{Verdict: adaptive.Transient})
		default:
			t.answered(adaptive.Judge(ctx, err), err)
		}
		return err
	})
}

// unlimited makes the attempt without the limiter, which has no limits. A
// refusal is told to it: from then on all calls pass through it, this one too
// if it is not over.
func (x *Executor) unlimited(ctx context.Context, t *record) (over bool, err error) {
	_, err = x.guarded(ctx, t, false, x.limiter.Classify)
	if err == nil {
		return true, nil
	}
	began := t.called()
	if errors.As(err, new(*fault.PanicError)) || t.state().Terminal() {
		return true, err
	}
	f := x.limiter.Classify(err)
	switch f.Verdict {
	case adaptive.Hit, adaptive.Overloaded, adaptive.Terminal:
	default:
		return true, err
	}
	x.limiter.Learn(adaptive.Enclose(ctx, x.limiter, false), began, f)
	x.limited.Store(true)
	t.answered(f, err)
	return f.Final, err
}

// guarded makes the call if the breaker, if there is one, lets it through. If
// not, sent is false and err says why. admitted says that a limiter has to hear of its end.
func (x *Executor) guarded(ctx context.Context, t *record, admitted bool, judge func(error) adaptive.Feedback) (sent bool, err error) {
	if x.config.Breaker == nil {
		return true, x.call(ctx, t, attempt{ctx: ctx, admitted: admitted})
	}
	ticket, err := x.config.Breaker.Allow(ctx)
	if err != nil {
		t.note(note{kind: noteOpen, err: err})
		return false, err
	}
	returned := false
	defer func() {
		if !returned { // runtime.Goexit
			ticket.Cancel()
		}
	}()
	err = x.call(ctx, t, attempt{ctx, admitted, ticket})
	returned = true
	count(ctx, ticket, judge, err)
	return true, err
}

// count ends the ticket of an attempt that ended with err.
func count(ctx context.Context, t breaker.Ticket, judge func(error) adaptive.Feedback, err error) {
	switch {
	case errors.As(err, new(*fault.PanicError)):
		t.Failure(err)
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		t.Cancel()
	default:
		switch judge(err).Verdict {
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
}

// call makes the call itself.
func (x *Executor) call(ctx context.Context, t *record, a attempt) (err error) {
	defer panics.Catch(&err)
	if d := x.config.Timeout; d > 0 {
		within, cancel := context.WithTimeoutCause(ctx, d, &timeoutError{d})
		defer cancel()
		ctx = within
	}
	if !t.calling {
		t.calls(a)
	}
	t.calling = false
	if err = t.job.call(ctx); err != nil {
		if answer, ok := adaptive.AnswerIn(err); ok {
			t.respond(answer.Status, answer.Header, answer.Body)
		}
	}
	return err
}

// timeoutError is the end of an attempt by Config.Timeout.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("executor: the attempt took longer than its timeout of %s", e.after)
}

// Unwrap makes it what everybody looks for.
func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// conclude takes t to its end, and reports whether it had not got there before.
func (x *Executor) conclude(t *record, to State, err error) bool {
	return x.concludeAt(t, to, err, x.clock.Elapsed())
}

func (x *Executor) concludeAt(t *record, to State, err error, now time.Duration) bool {
	if !t.end(to, err, now) {
		return false
	}
	x.ended[to].Add(1)
	x.tellEnd(t, to, err)
	return true
}
