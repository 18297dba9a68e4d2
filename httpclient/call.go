package httpclient

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/ended"
	"github.com/headrace/headrace/internal/header"
)

// call is one request that the client was asked for: any number of attempts, and one event. What attempts write is
// atomic: hooks run late, and a round tripper in Config.Wrap may have several under way.
//
// All that a request needs lies in it, so that it is one allocation.
type call struct {
	client *Client
	req    *http.Request // the caller's
	hop    *hop          // nil but in FollowAudited
	id     string
	ids    [1]string     // what a header holds
	begun  time.Duration // as all times here: since the client was made

	attempts  atomic.Int64 // that were begun, and those of net/http's own
	wired     atomic.Int64 // of those, what got a connection
	waited    atomic.Int64 // until the first attempt
	firstByte atomic.Int64 // of the last answer
	reused    atomic.Bool
	connect   atomic.Int64 // how long the last connection took to make; 0: it was not new
	phase     atomic.Int32 // of the last attempt when it ended
	upload    atomic.Int64 // what was read of a body of unknown length
	received  atomic.Int64
	ended     atomic.Bool

	last     atomic.Pointer[attempt] // the last one that was begun
	answered atomic.Bool             // the caller has an answer; status and proto are set before
	status   int
	proto    string

	scope scope // for Config.Wrap
	first attempt
	taken atomic.Bool // the first one
	body  callBody
}

func newCall(client *Client, req *http.Request) *call {
	c := &call{client: client, req: req, begun: client.watch.now()}
	if c.id = req.Header.Get(header.CorrelationID); c.id == "" {
		c.id = client.ids.next()
	}
	if client.gate != nil {
		c.joinHop()
	}
	return c
}

func (c *call) elapsed() time.Duration { return c.client.watch.now() - c.begun }

// outgoing is the request that goes through Config.Wrap.
func (c *call) outgoing() *http.Request {
	c.scope = scope{Context: c.req.Context(), call: c}
	req := c.req.WithContext(&c.scope)
	c.dress(req)
	return req
}

// dress gives req the headers of the client. It copies the map that req has, which the caller owns.
func (c *call) dress(req *http.Request) {
	config := &c.client.config
	_, agent := req.Header["User-Agent"] // an empty one means none, to net/http
	if agent && config.NoIDs {
		return
	}
	h := make(http.Header, len(req.Header)+3)
	maps.Copy(h, req.Header)
	if !agent {
		h["User-Agent"] = c.client.agent
	}
	if !config.NoIDs {
		c.ids = [1]string{c.id}
		h[header.CorrelationID] = c.ids[:]
		if config.RunID != "" {
			h[header.RunID] = c.client.run
		}
	}
	req.Header = h
}

// known is the caller's request, with the call in its context, for an answer that has no body to find it by.
func (c *call) known() *http.Request {
	return c.req.WithContext(&scope{Context: c.req.Context(), call: c})
}

// refused returns the error of a call that the gate rejects, or nil.
func (c *call) refused() error {
	if c.client.gate == nil {
		return nil
	}
	if err := c.client.gate.checkRequest(c.req); err != nil {
		return c.fail(CodeUnsent, PhasePrepare, err, nil)
	}
	return nil
}

// fail makes the error of the call. req is what was sent, if it was.
func (c *call) fail(code Code, phase Phase, cause error, req *http.Request) *Error {
	code, secrets := c.hop.fail(code, cause, c.secrets(req))
	return &Error{
		Code: code, Service: c.service(), ID: c.id, Method: method(c.req), URL: c.url(),
		Phase: phase, Elapsed: c.elapsed(), Attempt: int(c.attempts.Load()),
		cause: scrub(cause, inOrder(secrets)), waited: time.Duration(c.waited.Load()),
	}
}

// typed returns err if an *Error is in its tree, and makes one of what something in Config.Wrap returned.
func (c *call) typed(err error) error {
	if isA[*Error](err) {
		return err
	}
	ctx := c.req.Context()
	switch {
	case ctx.Err() != nil:
		why := ended.Cause(ctx)
		if errors.Is(err, ctx.Err()) && errors.Is(err, context.Cause(ctx)) {
			why = err // it has more to say, such as the last rate-limit response
		}
		return c.fail(CodeCanceled, c.lastPhase(), why, nil)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return c.fail(CodeCanceled, c.lastPhase(), err, nil)
	case c.attempts.Load() == 0:
		return c.fail(CodeUnsent, PhasePrepare, err, nil)
	default:
		return c.fail(CodeUnknown, c.lastPhase(), err, nil)
	}
}

func (c *call) lastPhase() Phase { return step(c.phase.Load()).phase() }

// end notifies the observers, once.
func (c *call) end(err error) {
	if !c.ended.CompareAndSwap(false, true) {
		return
	}
	own, theirs := c.client.config.Observer, event.From(c.req.Context())
	if own == nil && theirs == nil {
		return
	}
	e := event.New(time.Now(), event.NetRequest, c.service())
	e.Attempt, e.Wait, e.Err = int(c.attempts.Load()), c.elapsed(), err
	e.Request = &event.Request{
		ID: c.id, Run: c.client.config.RunID,
		Method: method(c.req), URL: c.url(),
		FirstByte: time.Duration(c.firstByte.Load()), Waited: time.Duration(c.waited.Load()),
		Sent: max(c.req.ContentLength, c.upload.Load()), Received: c.received.Load(),
		Reused: c.reused.Load(), Connect: time.Duration(c.connect.Load()),
	}
	if c.answered.Load() {
		e.Request.Status, e.Request.Proto = c.status, c.proto
		e.Request.Cached = c.wired.Load() == 0
	}
	emit.Send(emit.Except(own, theirs), e)
	emit.Send(theirs, e)
}

// endLate ends the call if the response that the caller holds, and not one of another attempt, lost its body to a timeout.
func (c *call) endLate() {
	a := c.last.Load()
	if a == nil || !c.answered.Load() {
		return
	}
	if late := a.late.Load(); late != nil {
		c.end(late)
	}
}

func (c *call) service() string {
	if s := c.client.config.Service; s != "" {
		return s
	}
	return c.req.URL.Host
}

func method(req *http.Request) string {
	if req.Method == "" {
		return http.MethodGet
	}
	return req.Method
}

// callBody ends the call when its body ends, wherever that came from.
type callBody struct {
	io.ReadCloser
	call *call
}

func (b *callBody) Read(p []byte) (int, error) {
	n, err := b.call.receive(b.ReadCloser.Read(p))
	switch {
	case err == io.EOF: //nolint:errorlint // the bare one is the end; an *Error may have it for its cause
		b.call.end(nil)
	case err != nil:
		b.call.end(err)
	}
	return n, err
}

func (b *callBody) Close() error {
	err := b.ReadCloser.Close()
	b.call.end(nil)
	return err
}

// receive counts what was read of an answer's body, holds one that did not come from the wire to Config.MaxResponse,
// and gives an error its type.
func (c *call) receive(n int, err error) (int, error) {
	limit := c.client.config.MaxResponse
	if over := c.received.Add(int64(n)) - limit; over > 0 {
		c.received.Add(-over)
		n, err = n-int(over), &tooLongError{"MaxResponse", limit}
	}
	if err == nil || err == io.EOF || isA[*Error](err) { //nolint:errorlint // the bare EOF is the end
		return n, err
	}
	if ctx := c.req.Context(); ctx.Err() != nil {
		return n, c.fail(CodeCanceled, PhaseBody, ended.Cause(ctx), nil)
	}
	return n, c.fail(classify(PhaseBody, err), PhaseBody, err, nil)
}
