package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/httpclient/endpoint"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/redact"
	"github.com/headrace/headrace/internal/replay"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// Model calls an endpoint through an executor. It is safe for concurrent use.
type Model struct {
	x      *Executor
	to     endpoint.Caller
	closed atomic.Bool
}

var errModelClosed = fmt.Errorf("executor: the model is closed: %w", ErrStopped)

// NewModel returns a model that calls the endpoint to on x. Models may share an
// executor. The endpoint should not limit or retry, because the executor does. If x
// or to is nil the errors are joined, each a *fault.FieldError.
func NewModel(x *Executor, to endpoint.Caller) (*Model, error) {
	p := invalid.Problems{Owner: "executor.Model"}
	if x == nil {
		p.Addf("Executor", "it is nil: make one with New")
	}
	if invalid.Nil(to) {
		p.Addf("Endpoint", "it is nil: make one with endpoint.New")
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return &Model{x: x, to: to}, nil
}

// Complete submits a call of the endpoint with this payload, expected cost and
// Info.Request. Errors are those of Submit. An endpoint.Endpoint reports the limits in
// its responses to the guard.
func (m *Model) Complete(ctx context.Context, payload any, cost throttle.Cost, opts ...SubmitOption) (*Task[*endpoint.Answer], error) {
	if m.closed.Load() {
		return nil, errModelClosed
	}
	opts = slices.Concat([]SubmitOption{WithCost(cost), WithRequest("", m.to.Name(), nil, nil)}, opts)
	return Submit(ctx, m.x, func(ctx context.Context) (*endpoint.Answer, error) { return callOn(ctx, m.to, payload) }, opts...)
}

// Close closes the endpoint, so that its calls fail. The executor stays open.
func (m *Model) Close() error {
	m.closed.Store(true)
	return m.to.Close()
}

// callOn makes one attempt and records it.
func callOn(ctx context.Context, to endpoint.Caller, payload any) (*endpoint.Answer, error) {
	t := scopeOf(ctx).task()
	var sent redact.Collector
	a, err := to.Call(sent.Within(ctx), payload)
	if a == nil { // not an Endpoint's
		return nil, err
	}
	t.hide(sent.Credentials())
	t.exchange(a)
	failed, rejected := errors.AsType[*httpclient.Error](err)
	rejected = rejected && failed.Code == httpclient.CodeAnswer
	if speaks, ok := to.(interface{ Dialect() dialect.Dialect }); ok && (err == nil || rejected) {
		f := speaks.Dialect().Read(time.Now(), a.StatusCode, a.Header, a.Body)
		if f.Verdict == adaptive.OK && rejected {
			f.Verdict = adaptive.Unclassified // by err
		}
		if replay.Stored(a.Method, a.Body) {
			f.Used = throttle.Cost{Points: f.Used.Points}
		}
		guard.Report(ctx, f)
	}
	return a, err
}

// hide adds credentials to the secrets of the task.
func (t *record) hide(found []string) {
	if len(found) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.life.state.Terminal() {
		return
	}
	r := request{}
	if before := t.more().request; before != nil {
		r = *before
	}
	r.secrets = slices.Compact(longestFirst(append(found, r.secrets...)))
	t.extra.request = &r
}

// longestFirst sorts secrets, because one may begin with another.
func longestFirst(secrets []string) []string {
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return secrets
}

// exchange copies what an endpoint reports of a call into the task's Info.
func (t *record) exchange(a *endpoint.Answer) {
	t.respond(a.StatusCode, a.Header, a.Body)
	payload := slices.Clone(head(a.Payload, t.secrets(), t.x.config.Keep))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.life.state.Terminal() {
		return
	}
	t.more().correlation = a.ID
	before := t.more().request
	r := &request{method: a.Method, endpoint: a.Endpoint, header: a.RequestHeader.Clone(), payload: payload, bytes: len(a.Payload)}
	if a.URL != "" {
		r.endpoint += " " + a.URL
	}
	if before != nil {
		r.secrets = before.secrets
	}
	t.extra.request = r
}
