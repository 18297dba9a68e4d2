package headrace

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/internal/replay"
	"github.com/headrace/headrace/retry"
)

// longestPause is the longest that a failure which is no refusal may ask to be left alone.
const longestPause = time.Minute

// exchange is one request on its way, over all attempts.
type exchange struct {
	t       *transport
	req     *http.Request
	payload payload
	limiter *adaptive.Limiter
	call    *adaptive.Call
	wire    wire // of the attempt in progress

	model *modelCall // nil: nobody traces it
	open  bool       // the body will end the call
}

// reply is what came of one attempt.
type reply struct {
	resp     *http.Response
	err      error
	feedback adaptive.Feedback
	unsent   bool // for sure
	refused  bool // by the base, which wanted no connection for it and never will
	open     bool // the body will end the call
}

// run sends the request until it is answered for good.
func (x *exchange) run(ctx context.Context) (*http.Response, error) {
	defer x.payload.Close()
	waiting, done := ctx, func() {}
	defer func() { done() }()
	x.call = x.limiter.Begin(x.payload.cost)
	var schedule *retry.Schedule
	var r reply
	refused := false
	for {
		attempt, err := x.call.Admit(waiting)
		if err != nil {
			return x.turnedAway(&r, err) //nolint:contextcheck // the request has it
		}
		x.attempt(attempt, &r)
		if x.open = r.open; x.open {
			return r.resp, nil
		}
		again, _ := x.call.End(r.feedback)
		switch {
		case again:
			if !refused {
				waiting, done = x.untilMaxWait(ctx) //nolint:fatcontext // once
			}
			refused = true
		case x.mayRepeat(&r):
			if schedule == nil {
				schedule = x.t.retry.Start()
			}
			if again, err := x.pause(ctx, schedule, &r); !again {
				return x.givenUp(&r, err) //nolint:contextcheck // as above
			}
			x.call = x.limiter.Begin(x.payload.cost)
		default:
			return r.resp, r.err
		}
		release(r.resp)
	}
}

// observed is the request's context with the transport's observer.
func (x *exchange) observed() context.Context {
	if x.t.observer == nil {
		return x.req.Context()
	}
	return event.With(x.req.Context(), x.t.observer)
}

// untilMaxWait is ctx with an intake that ends when a refused request has
// waited long enough: the attempt itself may take as long as it likes.
func (x *exchange) untilMaxWait(ctx context.Context) (context.Context, func()) {
	if x.t.maxWait == 0 {
		return ctx, func() {}
	}
	in, _ := intake.Of(ctx)
	in, cancel := context.WithTimeout(in, x.t.maxWait)
	return intake.With(ctx, in), cancel
}

// turnedAway is what a request ends with that the limiter does not let go: what
// the attempt before came to, if there was one, unless the quota is gone since or
// the request was cancelled. A deadline takes nothing away from who has an answer.
func (x *exchange) turnedAway(r *reply, err error) (*http.Response, error) {
	if r.resp == nil && r.err == nil || errors.Is(err, adaptive.ErrQuotaExhausted) ||
		errors.Is(x.req.Context().Err(), context.Canceled) {
		return x.givenUp(r, err)
	}
	return r.resp, r.err
}

// givenUp ends with err, in place of what the last attempt came to, if there is one.
func (x *exchange) givenUp(r *reply, err error) (*http.Response, error) {
	if err == nil {
		return r.resp, r.err
	}
	if r.resp != nil && r.resp.Body != nil {
		_ = r.resp.Body.Close() // nobody gets it
	}
	return nil, x.fail(err)
}

// attempt sends the request once. What came of the one before it is forgotten.
func (x *exchange) attempt(ctx context.Context, r *reply) {
	if r.resp != nil || r.err != nil {
		*r = reply{}
	}
	returned := false
	defer func() {
		if !returned { // the base has panicked
			_, _ = x.call.End(adaptive.Feedback{Verdict: adaptive.Transient})
		}
	}()
	x.model.attempt()
	out := x.req.WithContext(x.wire.trace(ctx))
	if r.err = x.payload.Next(out); r.err != nil {
		r.unsent = true
		r.feedback = adaptive.Feedback{Verdict: adaptive.Unsent, Err: r.err}
		returned = true
		return
	}
	resp, err := x.t.base.RoundTrip(out) //nolint:bodyclose // it is the caller's
	x.t.learn(&x.wire)
	if err != nil {
		x.failed(r, err)
	} else {
		resp.Request = x.req
		r.resp = resp
		x.answered(r) //nolint:contextcheck // it goes by the request's
	}
	returned = true
}

// failed judges an attempt without an answer.
func (x *exchange) failed(r *reply, err error) {
	r.err, r.feedback.Err = err, err
	r.refused = x.t.tells.Load() && x.wire.asked.Load() == 0
	r.unsent = r.refused || x.wire.unsent()
	switch {
	case r.unsent:
		r.feedback.Verdict = adaptive.Unsent
	case x.req.Context().Err() == nil:
		r.feedback.Verdict = adaptive.Transient
	}
	x.charge(&r.feedback)
}

// charge adds to what was used what no answer tells.
func (x *exchange) charge(f *adaptive.Feedback) {
	n := x.wire.attempts()
	switch {
	case f.Used.Tokens+f.Used.Input+f.Used.Output+f.Used.Points > 0:
		f.Used.Requests = max(1, n)
		if f.Used.Points == 0 {
			f.Used.Points = x.payload.cost.Points
		}
	case n > 1: // net/http has sent it again by itself
		f.Used = x.payload.cost
		f.Used.Requests = n
	}
}

// mayRepeat reports whether what has failed can be sent again without harm.
func (x *exchange) mayRepeat(r *reply) bool {
	if !x.payload.Replayable() || x.req.Context().Err() != nil {
		return false
	}
	if r.err != nil {
		return !r.refused && replay.OfError(r.err, r.unsent).Allows(x.req)
	}
	return r.feedback.Verdict == adaptive.Transient && r.feedback.RetryAfter <= longestPause && replay.Failed.Allows(x.req)
}

// pause waits until a failed request may be tried again; false if it may not, or
// could not before its deadline. The error is that the context has ended meanwhile.
func (x *exchange) pause(ctx context.Context, s *retry.Schedule, r *reply) (again bool, _ error) {
	err := r.err
	if err == nil {
		err = errors.New("status " + strconv.Itoa(r.resp.StatusCode))
	}
	delay, again := s.Next(err)
	delay = max(delay, r.feedback.RetryAfter)
	if deadline, set := ctx.Deadline(); !again || set && delay >= time.Until(deadline) {
		return false, nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, fmt.Errorf("%w while waiting to try again: %w", context.Cause(ctx), err)
	case <-timer.C:
		return true, nil
	}
}
