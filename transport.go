package headrace

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/replay"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
)

// transport is what Transport returns.
type transport struct {
	base         http.RoundTripper
	policy       guard.Policy  // of With
	retry        *retry.Policy // of requests with a guard that has none
	routes       routes
	clock        clock.Clock
	observer     event.Observer
	problems     invalid.Problems // of the options and the preset: the error of every request
	told         atomic.Bool      // that the SDK retries by itself
	traces       atomic.Bool      // the base reports its connections
	writes       atomic.Bool      // the base reports when a request is written
	alarms       clock.Alarms
	keeper       replay.Keeper
	scratch      sync.Pool     // of *scratch, for request bodies that are looked at
	firstByte    time.Duration // from the last of a request to its response; 0: no bound
	firstByteSet bool
	resent       int64 // bytes that are kept of a request body without GetBody
}

// Transport returns a round tripper that sends by base and keeps to what the
// provider allows. A nil base is http.DefaultTransport. Learning starts from
// the preset p; leave it empty to find the limits out. Invalid options are the
// error of every request. It is safe for concurrent use.
//
// Requests wait for a guard of registry.Default, one for each service, host,
// pool of models and credential. Rate-limit responses are waited out; failures
// are retried where that is safe. A request is in flight until the body of its
// response ends or is closed: close every body. Leave http.Client.Timeout and
// the SDK's retries off. The guide docs/http.md has the details.
func Transport(base http.RoundTripper, p presets.ID, opts ...Option) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &transport{base: base, resent: replay.MaxResent, firstByte: defaultFirstByte, problems: invalid.Problems{Owner: "headrace.Transport"}}
	invalid.Options(&t.problems, opts, t)
	if t.policy.Preset == "" {
		t.policy.Preset = p
	}
	if _, ok := base.(*http.Transport); ok {
		t.traces.Store(true)
		t.writes.Store(true)
	}
	t.retry, t.alarms.Clock = defaultRetry(), &t.clock
	t.clock, t.observer = clock.New(t.policy.Clock), t.policy.Observer
	t.problems.AddPart("With", t.policy.Validate())
	t.routes.init(t.policy)
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
	x := &exchange{t: t, req: req}
	prepared := false
	defer func() {
		if !prepared { // also after a panic in user code
			x.refuse()
		}
	}()
	if err := x.prepare(); err != nil {
		return nil, err
	}
	prepared = true
	if x.model != nil {
		return x.traced()
	}
	return x.run(x.observed())
}

// prepare estimates the cost of the request and finds its guard.
func (x *exchange) prepare() error {
	if err := x.t.problems.Err(); err != nil {
		return err
	}
	if x.req.URL == nil {
		return errors.New("headrace: the request has no URL")
	}
	x.t.noticeRetries(x.req)
	if err := x.weigh(); err != nil {
		return x.fail(err)
	}
	return nil
}

// refuse closes the body of a request that is not sent.
func (x *exchange) refuse() {
	if x.payload.Close(); !x.taken && x.req.Body != nil {
		_ = x.req.Body.Close() // a RoundTripper has to, and the request has an error already
	}
}
