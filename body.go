package headrace

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/replay"
	"github.com/headrace/headrace/throttle"
)

// body is the body of a response in the caller's hands. Whatever comes first,
// its end, an error, Close or the end of the context, ends the call.
type body struct {
	io.ReadCloser

	ending *ending
}

// ending is what ends a call.
type ending struct {
	exchange *exchange
	status   int
	header   http.Header // a copy
	came     time.Time   // when it was there
	heard    bool        // the declared quota was reported to the controller
	ignore   func() bool // stops listening to the context
	attempt  inflight.Attempt

	mu      sync.Mutex // guards all below
	done    bool
	answers bool  // which was reported to the attempt
	scan    *scan // nil: the body is of a kind that tells nothing
}

// follow puts a body into resp that ends the call. The quota that the header declares
// is reported at once: at the end of a stream it would be out of date.
func (x *exchange) follow(r *reply, a inflight.Attempt, now time.Time) {
	resp := r.resp
	e := &ending{exchange: x, status: resp.StatusCode, header: resp.Header.Clone(), came: now, attempt: a}
	f := x.dialect.Read(now, e.status, e.header, nil)
	for i := range f.Meters {
		if f.Meters[i].Known {
			e.heard = x.call.ApplyMeters(f.Meters)
			break
		}
	}
	if what := kindOf(resp.Header); what != unread && plain(resp.Header) {
		e.scan = newScan(what == stream)
	}
	b := &body{ReadCloser: resp.Body, ending: e}
	ctx := x.req.Context()
	e.mu.Lock()                                                                   // the context may end just now
	e.ignore = context.AfterFunc(ctx, func() { e.cancelled(context.Cause(ctx)) }) //nolint:contextcheck // the request has it
	e.mu.Unlock()
	resp.Body = b
	r.open = true
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	b.ending.saw(p[:max(0, min(n, len(p)))])
	if err != nil {
		b.end(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.end(nil) // also if the body of the base panics
	return b.ReadCloser.Close()
}

func (b *body) end(err error) {
	b.ending.end(err, err == io.EOF) //nolint:errorlint // readers return it as it is
}

// saw looks at what passes by.
func (e *ending) saw(p []byte) {
	if len(p) > 0 && e.reads(p) {
		e.attempt.Answers()
	}
}

// reads looks at p, and reports whether it is the first that shows an answer.
func (e *ending) reads(p []byte) (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.scan != nil {
		e.scan.write(p)
		e.exchange.model.saw(p)
	}
	if e.done || e.answers || e.scan != nil && !e.scan.answers() {
		return false
	}
	e.answers = true
	return true
}

// end ends the call, the first time. err is nil if the body was closed.
func (e *ending) end(err error, whole bool) {
	if !e.first() {
		return
	}
	f := adaptive.Feedback{Verdict: adaptive.Transient, Err: errPanic}
	defer func() { // also if the dialect panics
		f.Final = true // the caller has the response
		_, _ = e.exchange.call.End(f)
		e.exchange.model.finish(e.status, f.Err)
	}()
	f = e.feedback(err, whole)
}

// cancelled ends the call with the context. A panic of the dialect would end the program here, because no caller can recover it.
func (e *ending) cancelled(err error) {
	defer func() { _ = recover() }()
	e.end(err, false)
}

// first reports whether the call has not ended yet. From then on it has.
func (e *ending) first() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done {
		return false
	}
	e.done = true
	e.ignore()
	return true
}

// feedback is what the call taught.
func (e *ending) feedback(err error, whole bool) (f adaptive.Feedback) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var text []byte
	if e.scan != nil {
		text = e.scan.told(whole)
		e.exchange.model.told(text)
	}
	f = e.exchange.dialect.Read(e.came, e.status, e.header, text)
	if e.scan != nil && e.scan.start && f.Used != (throttle.Cost{}) { // what was generated is not in it
		reserved := &e.exchange.payload.cost
		f.Used.Tokens, f.Used.Output = max(f.Used.Tokens, reserved.Tokens), max(f.Used.Output, reserved.Output)
	}
	if e.scan != nil && e.scan.named && replay.Reads(e.exchange.req.Method) {
		stored(&f)
	}
	if e.heard {
		clear(f.Meters[:])
	}
	if err != nil && !whole && f.Verdict == adaptive.OK {
		f.Err, f.Verdict = err, e.exchange.broke()
	}
	e.exchange.complete(&f, e.status)
	return f
}
