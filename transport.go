package headrace

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/retry"
)

// transport is what Transport returns.
type transport struct {
	base     http.RoundTripper
	preset   presets.ID // empty: none
	routes   routes
	dialect  dialect.Dialect
	observer event.Observer
	maxWait  time.Duration // 0: the limiter's own
	retry    retry.Policy
	problems invalid.Problems // of the options and the preset: the error of every request
	told     sync.Once        // that the SDK retries by itself
	tells    atomic.Bool      // the base lets us see its connections
	scratch  sync.Pool        // of *scratch, for request bodies that are looked at
}

// Transport returns a round tripper that sends by base, nil for http.DefaultTransport, and keeps to what the provider
// allows. The preset p is where it starts; an empty one leaves everything to be found out. A preset that does not
// exist, and an option that cannot be used, is the error of every request.
//
// Each request waits for a permit of an adaptive limiter, under its own context. The limiter comes from the default
// registry, so that all transports of a process share it: one for each service, host and pool of models. The model that
// the request names is looked up in the tier of p, as presets.Table.ForModel does; one that has no row there has the
// limiter of p itself. So two presets of a service have two limiters on one host. What the registry was told of the
// service goes before these, as registry.Registry.Lookup finds it: "service/host", the host "*", or "service", such as
// "openai". What is registered or removed later is seen. Without a preset each host has a limiter, as
// registry.Registry.For makes it, which stays: remove those of hosts that are done with. Requests with different API
// keys share a limiter too: for a second account use WithRegistry or WithLimiter. A preset that is older than a year is
// told once in a process to who observes, as event.LimiterStalePreset.
//
// The tokens that a request will cost are estimated from its body, the first 1 MiB of it and what stands outermost
// behind that, and settled to the usage in the response, that of a stream included, which is not held back. The permit
// ends when the response's body is read to its end, fails or is closed, or when the request's context ends. A body that
// is never closed holds its permit until then: give such requests a context that ends. A connection that switches
// protocols holds none.
//
// An error, and a JSON object of up to 64 KiB with any status, is read before it is returned, because it may be a
// refusal. With status 200 it is one only if it is about nothing else: an error beside an id, a name, a status, "done"
// or rows is data. Of compressed bodies that base has not decompressed, because the caller asked for them, errors in
// gzip are understood, and short answers in gzip that tell their length; the usage in others is not, and what was
// estimated stands. Nothing bounds a body: see httpclient.Config.
//
// What comes back:
//
//   - A refusal for rate, or because the service is full (429, 529, 503 with Retry-After, and what else the dialect
//     knows, with status 200 too) is sent again when the limiter lets it, whatever the method, if the body can be had
//     again: there is none, the request has GetBody, it is at most 1 MiB and its length is known, or nobody has read of
//     it. A 503 that says nothing of waiting may have been worked on: that is sent again for idempotent methods only.
//     When waiting is given up, by WithMaxWait, a provider that wants more than ten minutes, or the deadline of the
//     context, the last response is returned as it came. Who cancels during a wait gets an error that matches
//     context.Canceled, the cause and the refusal.
//   - A connection that could not be made, and, for idempotent methods and requests with an Idempotency-Key, any other
//     error, 408 and 5xx, is tried again by WithRetry. One that could not be made costs nothing; what net/http has sent
//     twice by itself costs two requests. What net/http will not send, such as another scheme or a header that cannot
//     be, is final at once and costs nothing.
//   - A used-up quota is returned as it came and closes the limiter. What follows fails unsent with an error that
//     matches adaptive.ErrQuotaExhausted, until Reset.
//   - Every other response and error is the base's. Errors of the limiter tell the URL without its user information and
//     query, match the cause of the context where that ended the wait, and are a Timeout for a deadline.
//
// A wait takes from the deadline of the context and from http.Client.Timeout: leave that unset. Timeouts of the base
// are of an attempt, and no wait takes from them. SDKs that retry by themselves have to stop it (WithMaxRetries(0));
// one that does not is told once, see SDKRetries. Do not put httpclient.Retry around it, or within: it retries itself.
// The Anthropic SDK gives each call that is not streamed ten minutes, waits included: WithRequestTimeout gives it more.
//
// An http.Client follows redirects above its transport, and takes headers such as X-Api-Key to other hosts. Only
// a client that does not follow keeps them: httpclient.Config.FailOnRedirect.
//
// The round tripper is safe for concurrent use, never changes a request, and passes CloseIdleConnections on to base.
func Transport(base http.RoundTripper, p presets.ID, opts ...Option) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &transport{base: base, preset: p, problems: invalid.Problems{Owner: "headrace.Transport"}}
	for i, o := range opts {
		if o == nil {
			t.problems.Addf("opts["+strconv.Itoa(i)+"]", "nil: leave it out")
			continue
		}
		o(t)
	}
	if _, ok := base.(*http.Transport); ok {
		t.tells.Store(true)
	}
	t.routes.init(t)
	if t.dialect == nil {
		t.dialect = cmp.Or(t.routes.profile.Dialect, dialect.Auto)
	}
	return t
}

// CloseIdleConnections is called by http.Client.CloseIdleConnections.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x, err := t.prepare(req)
	if err != nil {
		x.payload.Close()
		if req.Body != nil {
			_ = req.Body.Close() // also where it was not looked at
		}
		return nil, err
	}
	if x.model != nil {
		return x.traced()
	}
	return x.run(x.observed())
}

// prepare finds out what req will cost and who lets it go. The exchange has a
// body to close also if there is an error.
func (t *transport) prepare(req *http.Request) (*exchange, error) {
	x := &exchange{t: t, req: req}
	if err := t.problems.Err(); err != nil {
		return x, err
	}
	if req.URL == nil {
		return x, errors.New("headrace: the request has no URL")
	}
	t.noticeRetries(req)
	err := x.weigh()
	if err != nil {
		err = x.fail(err)
	}
	return x, err
}

// redacted is u without what may be secret in it.
func redacted(u *url.URL) string {
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return clean.String()
}

// failure is an error of ours, with the request that it is of.
type failure struct {
	method, url string
	err         error
	ended       error // what the request's context says, if that is why: its cause may be another error
}

func (f *failure) Error() string { return "headrace: " + f.method + " " + f.url + ": " + f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// Is finds context.Canceled, and context.DeadlineExceeded, beside the cause.
func (f *failure) Is(target error) bool { return f.ended != nil && target == f.ended }

// Timeout is asked by url.Error, which looks no deeper.
func (f *failure) Timeout() bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](f.err)
	return ok && t.Timeout() || errors.Is(f, context.DeadlineExceeded)
}

// fail says of which request err is.
func (x *exchange) fail(err error) error {
	failed := &failure{method: x.method(), url: redacted(x.req.URL), err: err}
	if ctx := x.req.Context(); errors.Is(err, context.Cause(ctx)) {
		failed.ended = ctx.Err()
	}
	return failed
}

func (x *exchange) method() string {
	if x.req.Method == "" {
		return http.MethodGet
	}
	return x.req.Method
}
