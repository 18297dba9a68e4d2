package executor

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// ModelConfig describes a Model.
type ModelConfig struct {
	Executor *Executor         // required; models may share one
	Endpoint httpclient.Caller // required; it should not limit or retry, because the executor does
}

// Model calls an endpoint through an executor. It is safe for concurrent use.
type Model struct {
	config ModelConfig
	closed atomic.Bool
}

var errModelClosed = fmt.Errorf("executor: the model is closed: %w", ErrStopped)

// NewModel returns a model. Problems of c are joined, each a *fault.FieldError.
func NewModel(c ModelConfig) (*Model, error) {
	p := invalid.Problems{Owner: "executor.Model"}
	if c.Executor == nil {
		p.Addf("Executor", "it is nil: make one with New")
	}
	if invalid.Nil(c.Endpoint) {
		p.Addf("Endpoint", "it is nil: make one with httpclient.NewEndpoint")
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return &Model{config: c}, nil
}

// Complete submits a call of the endpoint with this payload, expected cost and
// Info.Request. Errors are those of Submit. An httpclient.Endpoint reports the limits in
// its responses to the guard.
func (m *Model) Complete(ctx context.Context, payload any, cost throttle.Cost, opts ...SubmitOption) (*Task[*httpclient.Answer], error) {
	if m.closed.Load() {
		return nil, errModelClosed
	}
	to := m.config.Endpoint
	opts = slices.Concat([]SubmitOption{WithCost(cost), WithRequest("", to.Name(), nil, nil)}, opts)
	return Submit(ctx, m.config.Executor, func(ctx context.Context) (*httpclient.Answer, error) { return callOn(ctx, to, payload) }, opts...)
}

// Close closes the endpoint, so that its calls fail. The executor stays open.
func (m *Model) Close() error {
	m.closed.Store(true)
	return m.config.Endpoint.Close()
}

// callOn makes one attempt, and puts it on the record.
func callOn(ctx context.Context, to httpclient.Caller, payload any) (*httpclient.Answer, error) {
	a, err := to.Call(ctx, payload)
	if a == nil { // somebody else's Caller
		return nil, err
	}
	scopeOf(ctx).task().exchange(a)
	if speaks, ok := to.(interface{ Dialect() dialect.Dialect }); ok && err == nil {
		guard.Report(ctx, speaks.Dialect().Read(time.Now(), a.StatusCode, a.Header, a.Body))
	}
	return a, err
}

// exchange puts what an endpoint tells of a call into the task's Info.
func (t *record) exchange(a *httpclient.Answer) {
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
