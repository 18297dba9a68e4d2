package proxy

import (
	"context"
	"net/http"
	"net/http/httputil"
	"sync"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
)

// Proxy is the http.Handler. It is safe for concurrent use.
type Proxy struct {
	config    Config
	clock     clock.Clock
	gate      gate
	upstreams map[string]*upstream
	senders   map[presets.ID]http.RoundTripper
	reverse   *httputil.ReverseProxy
	lines     *line.Lines
	work      work
	tally     tally
	flights   flights
	memory    memory
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
	p.senders = map[presets.ID]http.RoundTripper{}
	base := &counted{c.Base}
	for _, u := range p.upstreams {
		if p.senders[u.preset] == nil {
			p.senders[u.preset] = headrace.Transport(base, u.preset,
				headrace.With(c.Policy), headrace.WithRegistry(c.Registry), headrace.WithResend(0))
		}
	}
	p.work.init()
	p.tally.init(c.Weights)
	p.flights.init(&p.clock, &p.memory)
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      sender{p},
		ModifyResponse: p.answered,
		ErrorHandler:   p.unanswered,
		ErrorLog:       silent(),
		BufferPool:     &buffers{},
	}
	return p, nil
}

// exchange is one request and its answer.
type exchange struct {
	proxy  *Proxy
	to     route
	client *client
	ticket *line.Ticket
	wire   wire
	body   body
	status int // of the upstream's answer; 0: there is none
}

type exchangeKey struct{}

// exchangeOf returns the exchange that a context is of.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// ServeHTTP implements http.Handler. It goes by the RequestURI, byte for byte, so
// http.StripPrefix has no effect on it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := newAnswer(w, r)
	defer out.end()
	to, f := p.routeOf(r)
	if f == nil {
		f = p.gate.admit(r, to.token)
	}
	speaks := dialect.Auto
	if to.upstream != nil {
		speaks = to.upstream.dialect
	}
	if f == nil && p.gate.allowPage(out, r) {
		out.skip()
		return
	}
	if f == nil {
		f = p.known(&to)
	}
	if f == nil {
		f = p.serve(out, r, to)
	}
	if f != nil {
		p.tally.failed(f.code)
		waited(out.Header(), 0, 0)
		out.skip()
		f.write(out, speaks)
	}
}

// serve passes a request on that may be sent. The failure is one of before that.
func (p *Proxy) serve(out *answer, r *http.Request, to route) *failure {
	leave, f := p.work.enter()
	if f != nil {
		return f
	}
	defer leave()
	x := &exchange{proxy: p, to: to}
	caller, f := p.caller(r, &to)
	if f != nil {
		return f
	}
	x.client = p.tally.client(caller.Client)
	defer x.client.begin()()
	streams := p.config.Heartbeat > 0 && mayStream(r)
	if f := x.keep(out, r); f != nil {
		x.body.release()
		return f
	}
	var w http.ResponseWriter = out
	if streams && x.streams() {
		b := p.beat(out, x.to.upstream)
		defer b.end()
		w = b
	}
	if !p.join(w, r, x, caller) {
		p.send(w, r, x, caller)
	}
	return nil
}

// send makes the call of x.
func (p *Proxy) send(w http.ResponseWriter, r *http.Request, x *exchange, caller line.Caller) {
	defer x.body.release()
	ctx, cancel := context.WithCancelCause(context.WithValue(r.Context(), exchangeKey{}, x))
	defer cancel(nil)
	defer p.work.also(cancel)()
	ctx, x.ticket = p.lines.With(ctx, caller)
	defer p.tally.done(x)
	p.reverse.ServeHTTP(w, r.WithContext(ctx))
}

// unanswered answers a request without an answer of the upstream.
func (p *Proxy) unanswered(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	f := x.body.failed() // the server has cancelled the request for it
	if f == nil {
		f = failed(r.Context(), x.to.upstream, err)
	}
	if f == nil { // the client is gone; if it is not, an empty 200 is no answer
		panic(http.ErrAbortHandler)
	}
	p.tally.failed(f.code)
	waited(w.Header(), x.ticket.Waited(), x.ticket.Attempts())
	f.write(w, x.to.upstream.dialect)
}

// sender is the transport of the ReverseProxy.
type sender struct{ proxy *Proxy }

// RoundTrip implements http.RoundTripper.
func (s sender) RoundTrip(r *http.Request) (*http.Response, error) {
	return s.proxy.senders[exchangeOf(r.Context()).to.upstream.preset].RoundTrip(r)
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
