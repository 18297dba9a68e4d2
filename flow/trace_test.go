package flow_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// path is a tracer that writes down where it is.
type path struct {
	mu    sync.Mutex // guards lines
	lines []string
}

type pathKey struct{}

func (p *path) add(ctx context.Context, what string, e event.Event) {
	at, _ := ctx.Value(pathKey{}).(string)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, fmt.Sprintf("%s: %s %s", at, what, e.Kind))
}

func (p *path) Observe(event.Event) {}

func (p *path) Traces(kind event.Kind) bool {
	return kind == event.FlowStarted || kind == event.NodeStarted
}

func (p *path) Trace(ctx context.Context, begin event.Event) (context.Context, func(event.Event)) {
	at, _ := ctx.Value(pathKey{}).(string)
	ctx = context.WithValue(ctx, pathKey{}, at+"/"+begin.Source)
	return ctx, func(e event.Event) {
		what := "end"
		if e.Err != nil {
			what = "failed"
		}
		p.add(ctx, what, e)
	}
}

func (p *path) Note(ctx context.Context, e event.Event) { p.add(ctx, "note", e) }

// usersOwn is a node of the user's own.
type usersOwn struct{ f func() error }

func (*usersOwn) Name() string { return "custom" }

func (c *usersOwn) Run(context.Context, *int) (node.Action, error) { return node.Next, c.f() }

// Flows, nodes and those of the user's own are one tree, each told of once.
func TestTraceOfAFlow(t *testing.T) {
	step := node.Do("step", func(context.Context, *int) error { return nil })
	inner := flow.New[*int]("inner", &usersOwn{func() error { return nil }})
	f := flow.New[*int]("outer", step).Then(inner)
	p := &path{}
	_, err := flow.Run(t.Context(), f, new(int), flow.WithObserver(p))
	require.NoError(t, err)
	assert.Equal(t, []string{
		"/outer/step: end node.finished",
		"/outer: note flow.step",
		"/outer/inner/custom: end node.finished",
		"/outer/inner: note flow.step",
		"/outer/inner: end flow.finished",
		"/outer: note flow.step",
		"/outer: end flow.finished",
	}, p.lines)
}

func TestTraceOfANodeThatPanics(t *testing.T) {
	p := &path{}
	_, err := flow.Run(t.Context(), flow.New[*int]("f", &usersOwn{func() error { panic("custom") }}), new(int), flow.WithObserver(p))
	require.ErrorAs(t, err, new(*fault.PanicError))
	assert.Equal(t, []string{"/f/custom: failed node.finished", "/f: note flow.step", "/f: failed flow.finished"}, p.lines)
}
