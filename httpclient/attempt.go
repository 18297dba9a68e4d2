package httpclient

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/internal/ended"
)

// attempt is one request on its way through the wire. net/http may send it twice all the same, when a connection that
// it takes from the pool turns out to be dead.
type attempt struct {
	call   *call
	req    *http.Request // as it is sent; its context is the attempt's
	cancel context.CancelCauseFunc
	scope  scope
	trace  httptrace.ClientTrace

	step    atomic.Int32
	conns   atomic.Int32  // how many it was given
	fresh   atomic.Int32  // how many of those were new
	begun   time.Duration // since the client was made
	until   time.Duration // when the whole of it is late
	sent    atomic.Int64  // when it was written, since the client was made; 0: not yet
	reading atomic.Int64  // since when a read of the answer's body waits; 0: none does

	over   atomic.Bool
	late   atomic.Pointer[Error] // why its unread body was closed
	own    atomic.Pointer[ownError]
	ticket breaker.Ticket
	begins atomic.Bool // the breaker knows that the body has begun
	body   body

	conn     atomic.Pointer[connection] // the last one that it was given
	greeting atomic.Pointer[connection] // the last one on which a proxy is asked
}

var errOver = errors.New("httpclient: the attempt is over")

func newAttempt(c *call, req *http.Request) *attempt {
	a := &c.first
	if !c.taken.CompareAndSwap(false, true) {
		a = new(attempt)
	}
	now := c.client.watch.now()
	c.waited.CompareAndSwap(0, int64(now-c.begun))
	a.call, a.begun = c, now
	a.scope = scope{req.Context(), c, a}
	a.hook(httptrace.ContextClientTrace(req.Context()))
	ctx, cancel := context.WithCancelCause(&a.scope)
	a.cancel = cancel
	if c.client.config.Sign != nil {
		a.req = req.Clone(ctx) //nolint:contextcheck // it stands on the request's, through the scope
	} else {
		a.req = req.WithContext(ctx) //nolint:contextcheck // it stands on the request's, through the scope
	}
	c.client.watch.add(a, now)
	return a
}

// send puts the attempt on the wire.
func (a *attempt) send() (*http.Response, error) {
	a.call.attempts.Add(1)
	a.call.last.Store(a)
	a.freeUpload()
	return a.call.client.transport.RoundTrip(a.req)
}

// reach notes how far the attempt has come. It never goes back: a connection that was asked for may still be dialled
// while the attempt has got another.
func (a *attempt) reach(s step) {
	for {
		old := a.step.Load()
		if int32(s) <= old || a.step.CompareAndSwap(old, int32(s)) {
			return
		}
	}
}

func (a *attempt) phase() Phase { return step(a.step.Load()).phase() }

func (a *attempt) onTLS() {
	if conn := a.greeting.Load(); conn != nil {
		if conn.proxyTLS.CompareAndSwap(true, false) {
			return // with the proxy, which is a part of connecting
		}
		conn.greeted()
	}
	a.reach(stepTLS)
}

func (a *attempt) onConn(info httptrace.GotConnInfo) {
	if !info.Reused && a.fresh.Add(1) > maxFresh {
		a.cancel(&resentError{maxFresh})
		return
	}
	if conn := connectionOf(info.Conn); conn != nil {
		conn.greeted()
		a.conn.Store(conn)
	}
	a.call.wired.Add(1)
	if a.conns.Add(1) > 1 { // net/http sends it again by itself
		a.call.attempts.Add(1)
	}
	a.call.reused.Store(info.Reused)
	connect := a.call.client.watch.now() - a.begun
	if info.Reused {
		connect = 0
	}
	a.call.connect.Store(int64(connect))
	a.step.Store(int32(stepSend))
}

func (a *attempt) onSent(info httptrace.WroteRequestInfo) {
	if info.Err == nil {
		a.sent.Store(int64(a.call.client.watch.now()))
		a.reach(stepHeader)
	}
}

// maxFresh is on how many new connections net/http may send a request before it is stopped. Over HTTP/2 it goes on
// for ever against a server that resets each stream with PROTOCOL_ERROR: 892 times in 20 s, as the corpus saw.
const maxFresh = 3

// fail makes the error of the attempt and ends it.
func (a *attempt) fail(err error) *Error {
	failed := a.failure(err)
	a.end(failed)
	return failed
}

func (a *attempt) failure(err error) *Error {
	phase, cause := a.phase(), context.Cause(a.req.Context())
	var code Code
	own := a.ownFault(err)
	switch {
	case own != nil && a.scope.Err() == nil && (cause == nil || errors.Is(cause, errOver)):
		code, err = own.code, own.err
	case cause == nil, errors.Is(cause, errOver):
		code = classify(phase, err)
	case isA[*ended.LateError](cause), isA[*resentError](cause), errors.Is(cause, ErrClosed):
		err, code = cause, classify(phase, cause)
	default:
		err, code = ended.Cause(a.req.Context()), CodeCanceled
	}
	if code != CodeCanceled && a.call.client.conns.isClosed() && !errors.Is(err, ErrClosed) {
		err = errors.Join(ErrClosed, err)
	}
	return a.call.fail(code, phase, err, a.req)
}

// end releases what the attempt holds, and reports whether it was the first to do so. A nil err means that the response arrived
// and its body was read or closed.
func (a *attempt) end(err error) bool {
	if !a.over.CompareAndSwap(false, true) {
		return false
	}
	a.call.client.watch.remove(a)
	a.call.phase.Store(a.step.Load())
	a.endTicket(err)
	a.cancel(errOver)
	return true
}

// expire ends the attempt from the timer's goroutine. Blocked reads learn of it through the context; a body that is neither
// read nor closed is ended here.
func (a *attempt) expire(why *ended.LateError) {
	a.cancel(why)
	if a.phase() != PhaseBody {
		return
	}
	failed := a.failure(why)
	if a.end(failed) {
		a.late.Store(failed)
		a.call.endLate()
	}
}
