package executor

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// ErrModelClosed is of a Model that was closed.
var ErrModelClosed = errors.New("executor: the model is closed")

// ModelConfig describes a Model.
type ModelConfig struct {
	// Executor does the work. Several models may share one, and with it queue,
	// concurrency and limits; or each has its own, within the same guard (Policy.Within). It is required.
	Executor *Executor

	// Endpoint is what is called. It should neither limit nor retry by itself:
	// the executor does.
	Endpoint httpclient.Caller

	// Endpoints are several in place of Endpoint, for CompleteOn.
	Endpoints map[string]httpclient.Caller
}

// Model calls an endpoint through an executor. All methods are safe for
// concurrent use.
type Model struct {
	executor  *Executor
	endpoints map[string]httpclient.Caller
	closed    atomic.Bool
}

// NewModel returns a model. All problems of c are joined in one error, each a *fault.FieldError.
func NewModel(c ModelConfig) (*Model, error) {
	p := invalid.Problems{Owner: "executor.Model"}
	if c.Executor == nil {
		p.Addf("Executor", "it is nil: make one with New")
	}
	one := !invalid.Nil(c.Endpoint)
	switch {
	case one && len(c.Endpoints) > 0:
		p.Addf("Endpoint", "it excludes Endpoints: put it among them")
	case !one && len(c.Endpoints) == 0:
		p.Addf("Endpoint", "it is nil: say what is to be called, with httpclient.NewEndpoint")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Endpoints)) {
		if invalid.Nil(c.Endpoints[name]) {
			p.Addf("Endpoints", "%q is nil", name)
		}
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	m := &Model{executor: c.Executor, endpoints: maps.Clone(c.Endpoints)}
	if one {
		m.endpoints = map[string]httpclient.Caller{"": c.Endpoint}
	}
	return m, nil
}

// Complete submits a call of the model's endpoint with this payload, and
// returns its task. cost is what it is expected to cost; tokens above all. The options and errors are
// those of Submit, and ErrModelClosed. Info of the task has what was sent and
// answered. What an answer says of the limits is told to the limiter, by the dialect of an httpclient.Endpoint.
func (m *Model) Complete(ctx context.Context, payload any, cost throttle.Cost, opts ...SubmitOption) (*Task[*httpclient.Answer], error) {
	return m.CompleteOn(ctx, "", payload, cost, opts...)
}

// CompleteOn is Complete for one of several endpoints, by its key in ModelConfig.Endpoints.
func (m *Model) CompleteOn(
	ctx context.Context, endpoint string, payload any, cost throttle.Cost, opts ...SubmitOption,
) (*Task[*httpclient.Answer], error) {
	to, ok := m.endpoints[endpoint]
	if !ok {
		p := invalid.Problems{Owner: "executor.Model"}
		p.Addf("endpoint", "%q is none of the model's: %s", endpoint, strings.Join(slices.Sorted(maps.Keys(m.endpoints)), ", "))
		return nil, p.Err()
	}
	if m.closed.Load() {
		return nil, ErrModelClosed
	}
	opts = slices.Concat([]SubmitOption{WithCost(cost), WithRequest("", to.Name(), nil, nil)}, opts)
	return Submit(ctx, m.executor, func(ctx context.Context) (*httpclient.Answer, error) { return callOn(ctx, to, payload) }, opts...)
}

// Close ends the model and its endpoints: calls that are queued or under way
// fail. The executor is left alone. It may be called again.
func (m *Model) Close() error {
	m.closed.Store(true)
	var errs []error
	for _, e := range m.endpoints {
		errs = append(errs, e.Close())
	}
	return errors.Join(errs...)
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
