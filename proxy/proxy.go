package proxy

import (
	"context"
	"errors"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/account"
	"github.com/headrace/headrace/internal/clienttrace"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
)

// Proxy is the http.Handler. It is safe for concurrent use.
type Proxy struct {
	config    Config
	clock     clock.Clock
	gate      gate
	upstreams map[string]*upstream
	reverse   *httputil.ReverseProxy // for requests that forward does not pass on
	buffers   buffers
	lines     *line.Lines
	work      work
	tally     tally
	joins     joins
	memory    memory
	alarms    clock.Alarms // for bodies
}

// New returns a Proxy. The error joins a *fault.FieldError for each problem.
func New(c Config) (*Proxy, error) {
	problems := invalid.Problems{Owner: owner}
	c.check(&problems)
	c.fill()
	p := &Proxy{config: c, clock: clock.New(c.Policy.Clock), gate: newGate(&c), upstreams: c.upstreams(&problems)}
	p.lines = line.New(line.Config{MaxQueue: c.MaxQueue, MaxWait: c.MaxWait, Clock: c.Policy.Clock})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	senders := map[presets.ID]http.RoundTripper{}
	base := &counted{c.Base}
	for _, u := range p.upstreams {
		if senders[u.preset] == nil {
			senders[u.preset] = headrace.Transport(base, u.preset,
				headrace.With(c.Policy), headrace.WithRegistry(c.Registry), headrace.WithResend(0))
		}
		u.sender = senders[u.preset]
	}
	p.work.init()
	p.tally.init(c.Weights)
	p.joins.init(&p.clock, &p.memory)
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      sender{},
		ModifyResponse: p.answered,
		ErrorHandler:   p.unanswered,
		ErrorLog:       silent(),
		BufferPool:     &p.buffers,
	}
	return p, nil
}

// exchange is one request and its answer. It is the context of its call.
type exchange struct {
	context.Context //nolint:containedctx // it is a context

	proxy  *Proxy
	out    answer
	to     route
	target url.URL // where it is sent
	client *client
	ticket line.Ticket

	account account.ID // of the credential
	hashed  bool       // it has been looked up
	wire    wire
	body    body
	said    said
	early   early
	status  int // of the upstream's answer; 0: there is none
}

// Value implements context.Context.
func (x *exchange) Value(key any) any {
	switch {
	case key == exchangeKey{}:
		return x
	case inflight.Private(key):
		return inflight.Watcher(&x.ticket)
	case clienttrace.Is(key) && x.early.to != nil:
		return &x.early.hooks
	}
	return x.Context.Value(key)
}

type exchangeKey struct{}

// exchangeOf returns the exchange that a context is of.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// ServeHTTP implements http.Handler. It uses the RequestURI, byte for byte, so
// http.StripPrefix has no effect on it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{proxy: p}
	out, now := &x.out, time.Now()
	out.init(w, r, now)
	defer out.end()
	if p.config.Log != nil {
		defer x.survive(r)
	}
	f := p.routeOf(r, &x.to)
	if f == nil {
		f = p.gate.admit(r, x.to.token)
	}
	speaks := dialect.Auto
	if x.to.upstream != nil {
		speaks = x.to.upstream.dialect
	}
	if f == nil && p.gate.allowPage(out, r) {
		out.skip()
		return
	}
	if f == nil {
		f = p.known(&x.to)
	}
	if f == nil {
		f = x.serve(r, now)
	}
	if f != nil {
		p.tally.failed(f.code)
		x.said.put(out.Header(), 0, 0)
		out.skip()
		f.write(out, speaks)
	}
}

// survive logs a panic, and answers its request if no part of an answer was sent. It must be deferred directly.
func (x *exchange) survive(r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v != http.ErrAbortHandler { //nolint:errorlint // it is a value of panic
		x.proxy.panicked(r.Context(), panics.Error(v))
	}
	if v == http.ErrAbortHandler || x.out.begun { //nolint:errorlint // the same
		panic(http.ErrAbortHandler)
	}
	speaks := dialect.Auto
	if x.to.upstream != nil {
		speaks = x.to.upstream.dialect
	}
	x.proxy.tally.failed(CodeInternal)
	clear(x.out.Header())
	x.said.put(x.out.Header(), x.ticket.Waited(), x.ticket.Attempts())
	x.out.skip()
	panicked().write(&x.out, speaks)
}

// panicked logs a panic.
func (p *Proxy) panicked(ctx context.Context, e *fault.PanicError) {
	if p.config.Log != nil {
		panics.Log(ctx, p.config.Log, "a request panicked", e)
	}
}

// serve passes a request on that may be sent. The failure is one of before that.
func (x *exchange) serve(r *http.Request, now time.Time) *failure {
	p := x.proxy
	f := p.work.enter()
	if f != nil {
		return f
	}
	defer p.work.leave(1)
	x.target = x.to.target()
	caller, f := x.caller(r)
	if f != nil {
		return f
	}
	x.client = p.tally.begin(caller.Client, now)
	defer p.tally.end(x.client)
	streams := p.config.Heartbeat > 0 && mayStream(r)
	if f = x.keep(&x.out, r); f != nil {
		x.body.release()
		return f
	}
	var w http.ResponseWriter = &x.out
	if streams && x.streams() {
		b := p.beat(&x.out, x.to.upstream)
		defer b.end()
		w = b
	}
	p.lines.Issue(&x.ticket, caller)
	if p.join(w, r, x, caller) {
		return nil
	}
	if x.Context = r.Context(); !p.work.ends(x) { //nolint:contextcheck // it is that of r
		ctx, cancel := context.WithCancelCause(x.Context)
		defer cancel(nil)
		defer p.work.also(cancel)()
		x.Context = ctx
	}
	p.send(w, r, x) //nolint:contextcheck // x is the context
	return nil
}

// send makes the call of x. The context of x must be set.
func (p *Proxy) send(w http.ResponseWriter, r *http.Request, x *exchange) {
	defer x.body.release()
	defer p.tally.done(x)
	if x.simple(r) {
		p.forward(w, r, x)
		return
	}
	p.reverse.ServeHTTP(w, r.WithContext(x))
}

// unanswered answers a request without an answer of the upstream.
func (p *Proxy) unanswered(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	if e, ok := errors.AsType[*fault.PanicError](err); ok {
		p.panicked(r.Context(), e)
	}
	f := x.body.failed() // the server has cancelled the request for it
	if f == nil {
		f = failed(r.Context(), x.to.upstream, err)
	}
	if f == nil { // the client is gone; if it is not, an empty 200 is no answer
		panic(http.ErrAbortHandler)
	}
	p.tally.failed(f.code)
	x.said.put(w.Header(), x.ticket.Waited(), x.ticket.Attempts())
	f.write(w, x.to.upstream.dialect)
}

// sender is the transport of the ReverseProxy.
type sender struct{}

// RoundTrip implements http.RoundTripper.
func (sender) RoundTrip(r *http.Request) (*http.Response, error) {
	return exchangeOf(r.Context()).to.upstream.sender.RoundTrip(r)
}

// buffers are what answers are copied through.
type buffers struct{ pool sync.Pool }

const copied = 32 << 10

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[copied]byte); ok {
		return p[:]
	}
	return make([]byte, copied)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(p []byte) { b.pool.Put((*[copied]byte)(p)) }
