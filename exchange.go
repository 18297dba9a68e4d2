package headrace

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
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
	wire    wire  // of the attempt in progress
	reply   reply // of the last attempt
}

// reply is what came of one attempt.
type reply struct {
	resp     *http.Response
	err      error
	feedback adaptive.Feedback
	unsent   bool // for sure
	open     bool // the body will end the call
}

// run sends the request until it is answered for good.
func (x *exchange) run() (*http.Response, error) {
	defer x.payload.Close()
	ctx := x.observed()
	waiting, done := ctx, func() {}
	defer func() { done() }()
	x.call = x.limiter.Begin(x.payload.cost)
	var schedule *retry.Schedule
	r, refused := &x.reply, false
	for {
		attempt, err := x.call.Admit(waiting)
		if err != nil {
			return x.turnedAway(err)
		}
		x.reply = reply{}
		x.attempt(attempt)
		if r.open {
			return r.resp, nil
		}
		again, _ := x.call.End(r.feedback)
		switch {
		case again:
			if !refused {
				waiting, done = x.untilMaxWait(ctx) //nolint:fatcontext // once
			}
			refused = true
		case x.mayRepeat():
			if schedule == nil {
				schedule = x.t.retry.Start()
			}
			if !x.pause(ctx, schedule) {
				return r.resp, r.err
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
	in, _ := adaptive.Intake(ctx)
	in, cancel := context.WithTimeout(in, x.t.maxWait)
	return adaptive.WithIntake(ctx, in), cancel
}

// turnedAway is what a request ends with that the limiter does not let go: what
// the attempt before came to, if there was one, unless the quota is gone since.
func (x *exchange) turnedAway(err error) (*http.Response, error) {
	if x.reply.resp == nil && x.reply.err == nil || errors.Is(err, adaptive.ErrQuotaExhausted) {
		return nil, x.fail(err)
	}
	return x.reply.resp, x.reply.err
}

// attempt sends the request once.
func (x *exchange) attempt(ctx context.Context) {
	returned := false
	defer func() {
		if !returned { // the base has panicked
			_, _ = x.call.End(adaptive.Feedback{Verdict: adaptive.Transient})
		}
	}()
	out := x.req.WithContext(x.wire.trace(ctx))
	r := &x.reply
	if r.err = x.payload.Next(out); r.err != nil {
		r.unsent = true
		r.feedback = adaptive.Feedback{Verdict: adaptive.Unsent, Err: r.err}
		returned = true
		return
	}
	resp, err := x.t.base.RoundTrip(out) //nolint:bodyclose // it is the caller's
	if err != nil {
		x.failed(err)
	} else {
		resp.Request = x.req
		r.resp = resp
		x.answered(resp) //nolint:contextcheck // it goes by the request's
	}
	returned = true
}

// failed judges an attempt without an answer.
func (x *exchange) failed(err error) {
	r := &x.reply
	r.err, r.unsent, r.feedback.Err = err, x.wire.unsent(), err
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
func (x *exchange) mayRepeat() bool {
	r := &x.reply
	if !x.payload.Replayable() || x.req.Context().Err() != nil {
		return false
	}
	if r.err != nil {
		return replay.OfError(r.err, r.unsent).Allows(x.req)
	}
	return r.feedback.Verdict == adaptive.Transient && r.feedback.RetryAfter <= longestPause && replay.Failed.Allows(x.req)
}

// pause waits until a failed request may be tried again; false if it may not.
func (x *exchange) pause(ctx context.Context, s *retry.Schedule) bool {
	r := &x.reply
	err := r.err
	if err == nil {
		err = errors.New("status " + strconv.Itoa(r.resp.StatusCode))
	}
	delay, again := s.Next(err)
	if !again {
		return false
	}
	timer := time.NewTimer(max(delay, r.feedback.RetryAfter))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
