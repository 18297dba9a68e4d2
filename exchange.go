package headrace

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/internal/replay"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// longestPause is the longest Retry-After of a failure, such as a 500, that is
// waited for.
const longestPause = time.Minute

// exchange is one request, over all attempts.
type exchange struct {
	t       *transport
	req     *http.Request
	payload payload
	sent    replay.Upload
	guard   *guard.Guard
	dialect dialect.Dialect
	call    guard.Call
	model   *modelCall // nil: it is not traced

	// Of the first attempt.
	bound bound
	hooks httptrace.ClientTrace
	kept  replay.Answer

	taken  bool // the payload has the body
	hooked bool // hooks are in use
	keeps  bool // kept is in use
	open   bool // the body will end the call
}

// reply is the outcome of one attempt.
type reply struct {
	resp     *http.Response
	err      error
	feedback adaptive.Feedback
	unsent   bool // certainly
	refused  bool // by the base, which asked for no connection and never will
	open     bool // the body will end the call
}

// run sends the request until the guard says that it is over.
func (x *exchange) run(ctx context.Context) (*http.Response, error) {
	defer x.payload.Close()
	inflight.Request(&x.call, x.guard, x.payload.cost, x.t.retry) // a response at hand is better than an error
	var r reply
	for {
		attempt, err := x.call.Admit(ctx)
		if err != nil {
			return x.turnedAway(&r, err) //nolint:contextcheck // the request has it
		}
		x.attempt(attempt, &r)
		if x.open = r.open; x.open {
			return r.resp, nil
		}
		if again, _ := x.call.End(r.feedback); !again { // a response is returned as it came
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

// turnedAway is the end of a request that is not admitted because of err. If
// there was an attempt, its outcome is returned, unless the quota is used up
// since then, the request has waited for too long in a line, or it was cancelled.
func (x *exchange) turnedAway(r *reply, err error) (*http.Response, error) {
	if (r.resp != nil || r.err != nil) && !errors.Is(err, adaptive.ErrQuotaExhausted) &&
		!errors.As(err, new(*line.WaitError)) && !errors.Is(x.req.Context().Err(), context.Canceled) {
		return r.resp, r.err
	}
	if r.resp != nil && r.resp.Body != nil {
		_ = r.resp.Body.Close() // it is not returned
	}
	return nil, x.fail(err)
}

// attempt sends the request once.
func (x *exchange) attempt(ctx context.Context, r *reply) {
	*r = reply{}
	returned := false
	a := inflight.Of(ctx)
	x.trace(a) // before a timer can look at ctx
	ctx, b := x.bounded(ctx, a.Timeout())
	defer func() {
		if b != nil && r.resp == nil {
			b.release()
		}
		if !returned { // a panic or runtime.Goexit, in the base or the dialect
			defer discard(r.resp)
			_, _ = x.call.End(adaptive.Feedback{Verdict: adaptive.Transient, Final: true})
		}
	}()
	x.model.attempt()
	out := x.req.WithContext(ctx)
	uncoded(out)
	if err := x.payload.Next(out); err != nil {
		x.failed(r, a, err)
	} else if resp, err := x.send(b, out); err != nil { //nolint:bodyclose // it is the caller's
		x.failed(r, a, err)
	} else {
		x.t.learn(a)
		resp.Request = x.req
		r.resp = resp
		x.answered(r, a) //nolint:contextcheck // it goes by the request's
	}
	if r.feedback.Final = r.feedback.Final || !x.mayRepeat(r); r.feedback.Err == nil {
		r.feedback.Err = r.err
	}
	returned = true
}

// trace counts the connections of an attempt, and notes when the request is written.
// Connections that are still being made for an earlier attempt look at hooks of its own.
func (x *exchange) trace(a inflight.Attempt) {
	hooks := &x.hooks
	if x.hooked {
		hooks = new(httptrace.ClientTrace)
	}
	x.hooked = true
	a.CountWire(hooks)
	also := hooks.WroteRequest
	hooks.WroteRequest = func(info httptrace.WroteRequestInfo) {
		x.sent.Wrote()
		if !x.t.writes.Load() {
			x.t.writes.Store(true)
		}
		if also != nil {
			also(info)
		}
	}
}

// inTime reports whether a failed request can be repeated after a pause of d.
func (x *exchange) inTime(d time.Duration) bool {
	deadline, set := x.req.Context().Deadline()
	return d <= longestPause && (!set || d == 0 || d < time.Until(deadline))
}

// learn notes that the base reports its connections, as net/http does.
func (t *transport) learn(a inflight.Attempt) {
	if asked, _ := a.Wire(); asked > 0 && !t.traces.Load() {
		t.traces.Store(true)
	}
}

// failed judges an attempt without a response.
func (x *exchange) failed(r *reply, a inflight.Attempt, err error) {
	x.t.learn(a)
	asked, got := a.Wire()
	r.err = err
	r.refused = x.t.traces.Load() && asked == 0
	r.unsent = r.refused || asked > 0 && got == 0
	switch {
	case r.unsent:
		r.feedback = adaptive.Feedback{Verdict: adaptive.Unsent, Err: err}
	case x.req.Context().Err() != nil:
		r.feedback.Err = err
	default:
		if r.feedback = a.Judge(err); r.feedback.Verdict == adaptive.Unclassified {
			r.feedback.Verdict = adaptive.Transient
		}
		r.feedback.Used = throttle.Cost{} // the guard has what was reported, and else what was reserved
		if x.payload.Failed() {
			r.feedback.Err = &uploadError{err: err}
		}
	}
}

// mayRepeat reports whether another attempt does no harm: after a rate-limit
// response nothing was done, and after a failure it depends on the method.
func (x *exchange) mayRepeat(r *reply) bool {
	f := &r.feedback
	switch {
	case r.open, x.req.Context().Err() != nil, !x.payload.Replayable():
		return false
	case r.err != nil:
		return !r.refused && replay.OfError(r.err, r.unsent).Allows(x.req)
	case f.Verdict == adaptive.Hit:
		return true
	case f.Verdict == adaptive.Overloaded:
		_, told := retry.RetryAfter(r.resp.Header, time.Now())
		told = told || f.RetryAfter > 0 || f.SlowDown
		return replay.OfStatus(r.resp.StatusCode, told) != replay.Failed || replay.Idempotent(x.req)
	default:
		return f.Verdict == adaptive.Transient && x.inTime(f.RetryAfter) && replay.Failed.Allows(x.req)
	}
}
