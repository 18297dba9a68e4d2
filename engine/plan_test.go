package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
)

type doc struct {
	Words []string
	Sizes []int
	Notes string
}

func size(_ context.Context, w string) (int, error) {
	if w == "bad" {
		return 0, io.EOF
	}
	return len(w), nil
}

func none(context.Context, *doc) (iter.Seq2[string, error], error) {
	return node.Slice[string](nil), nil
}

func docs() *flow.Flow[*doc] {
	judge := node.Decide("judge", func(_ context.Context, d *doc) (node.Action, error) {
		if len(d.Words) > 2 {
			return "long", nil
		}
		return node.Next, nil
	})
	cut := node.Do("cut", func(_ context.Context, d *doc) error { d.Words = d.Words[:len(d.Words)-1]; return nil })
	sizes := node.Each("sizes", func(d *doc) []string { return d.Words }, size, func(d *doc, n []int) { d.Sizes = n }).WithParallel(7)
	return flow.New("docs", judge).Then(sizes).On(judge, "long", cut).On(cut, node.Next, judge).WithMaxSteps(9)
}

func TestPlan(t *testing.T) {
	p, err := engine.New(docs())
	require.NoError(t, err)
	assert.Equal(t, "docs", p.Name())
	var all []string
	for part := range p.Parts() {
		all = append(all, fmt.Sprintf("%s %s", part.Kind, part.Path))
	}
	assert.Equal(t, []string{"flow docs", "step docs/judge", "batch docs/sizes", "step docs/cut"}, all)
	root := p.Root()
	assert.Equal(t, 9, root.MaxSteps)
	assert.Equal(t, []engine.Edge{{From: 0, To: 1}, {From: 0, Action: "long", To: 2}, {From: 2, To: 0}}, root.Edges)
	to, err := root.Follow(0, "long")
	require.NoError(t, err)
	assert.Equal(t, "cut", root.Inside[to].Name)
	to, err = root.Follow(1, "anything")
	require.NoError(t, err)
	assert.Equal(t, -1, to)
	_, err = root.Follow(0, "misspelt")
	assert.ErrorAs(t, err, new(*flow.ActionError))
	assert.Equal(t, 7, p.Part("docs/sizes").Items.Parallel)
	assert.Nil(t, p.Part("docs/none"))
}

// A state goes through a plan as it goes through the flow.
func TestAStateGoesThroughAPlan(t *testing.T) {
	want := &doc{Words: []string{"mill", "wheel", "race"}}
	_, err := flow.Run(t.Context(), docs(), want)
	require.NoError(t, err)

	p, err := engine.New(docs())
	require.NoError(t, err)
	state, err := p.Encode(&doc{Words: []string{"mill", "wheel", "race"}})
	require.NoError(t, err)
	at := 0
	for at >= 0 {
		var action string
		part := p.Root().Inside[at]
		if part.Kind == engine.Step {
			o := part.Run(t.Context(), state, guard.Progress{})
			require.NoError(t, o.Err)
			action, state = o.Action, o.State
		} else {
			var results []engine.Result
			require.NoError(t, part.Items.List(t.Context(), state, func(item []byte, err error) error {
				o := part.Items.Attempt(t.Context(), int64(len(results)), item, guard.Progress{})
				o.In = item
				results = append(results, o.Result)
				return err
			}))
			action, state, err = part.Items.Finish(t.Context(), state, slices.Values(results), nil)
			require.NoError(t, err)
		}
		at, err = p.Root().Follow(at, action)
		require.NoError(t, err)
	}
	var got doc
	require.NoError(t, json.Unmarshal(state, &got))
	assert.Equal(t, *want, got)
	assert.Equal(t, []int{4, 5}, got.Sizes)
}

type own struct{}

func (own) Name() string { return "mine" }

func (own) Run(context.Context, *doc) (node.Action, error) { return node.Next, nil }

type hidden struct {
	Shown  int
	secret int //nolint:unused // it is what JSON leaves out
}

type withFunc struct{ F func() }

// What cannot travel is refused by name, all of it at once.
func TestWhatCannotTravelIsRefused(t *testing.T) {
	first := node.Do("first", func(context.Context, *doc) error { return nil })
	lost := node.Each("lost", func(*doc) []hidden { return nil },
		func(context.Context, hidden) (withFunc, error) { return withFunc{}, nil }, func(*doc, []withFunc) {})
	sunk := node.BatchFunc("sunk", none, size, nil).WithSink(node.SinkFunc(func(context.Context, node.Result[string, int]) error { return nil }))
	some := node.BatchFunc("some", none, size, nil).WithOnError(node.FailFast().Except(func(error) bool { return false }))
	_, err := engine.New(flow.New("f", first).Then(own{}).Then(lost).Then(sunk).Then(some))
	require.Error(t, err)
	for _, part := range []string{`mine: a node of type engine_test.own cannot be sent to another machine`, `node "lost"`, "engine_test.hidden.secret", "engine_test.withFunc.F", "WithSink", "WithOnError: Except"} {
		assert.ErrorContains(t, err, part)
	}
	_, err = engine.New(node.Do("state", func(context.Context, *hidden) error { return nil }))
	assert.ErrorContains(t, err, `node "state": state: it is sent as JSON, which leaves out *engine_test.hidden.secret`)
	_, err = engine.New(flow.New("twice", first).Then(node.Do("first", func(context.Context, *doc) error { return nil })))
	assert.ErrorContains(t, err, "two nodes have this name")
	_, err = engine.New(nil)
	assert.ErrorContains(t, err, "the node is nil")
	_, err = engine.New((*flow.Flow[*doc])(nil))
	assert.ErrorContains(t, err, "the node is nil")
}

type anything struct{ V any }

func TestAStateThatWouldComeBackDifferent(t *testing.T) {
	p, err := engine.New(node.Do("step", func(context.Context, *anything) error { return nil }))
	require.NoError(t, err)
	_, err = p.Encode(&anything{"text"})
	require.NoError(t, err)
	_, err = p.Encode(&anything{7})
	require.ErrorContains(t, err, "a value of type int in an interface")
	_, err = p.Encode(&doc{})
	assert.ErrorContains(t, err, "the state is a *engine_test.doc and not a *engine_test.anything")
}

// A tree walks itself: the plan of a flow that contains itself ends.
func TestAFlowInsideItself(t *testing.T) {
	type tree struct {
		Name     string
		Children []json.RawMessage
	}
	walk := flow.New[*tree]("walk", node.Do("visit", func(context.Context, *tree) error { return nil }))
	walk.Then(flow.Each("children", func(*tree) []tree { return nil }, walk, func(*tree, []tree) {}))
	p, err := engine.New(walk)
	require.NoError(t, err)
	assert.Same(t, p.Root(), p.Part("walk/children").Inside[0])
	assert.NotEmpty(t, p.Fingerprint())
}

func TestFingerprint(t *testing.T) {
	of := func(n any) string {
		p, err := engine.New(n)
		require.NoError(t, err)
		return p.Fingerprint()
	}
	assert.Equal(t, of(docs()), of(docs()))
	assert.NotEqual(t, of(docs()), of(docs().WithMaxSteps(10)))
	each := func() *node.Batch[*doc, string, int] {
		return node.Each("sizes", func(d *doc) []string { return d.Words }, size, func(d *doc, n []int) { d.Sizes = n })
	}
	assert.Equal(t, of(each().WithParallel(1)), of(each().WithParallel(7).WithRetry(retry.Policy{MaxAttempts: 5})), "tuning")
	assert.NotEqual(t, of(each().WithOnError(node.MaxFailures(1))), of(each().WithOnError(node.MaxFailures(2))))
}

// An item fails, falls back, or is pending, as in one process.
func TestItems(t *testing.T) {
	batch := func(err error) *node.Batch[*doc, string, int] {
		return node.Each("b", func(d *doc) []string { return d.Words },
			func(context.Context, string) (int, error) { return 0, err }, func(d *doc, n []int) { d.Sizes = n }).
			WithKey(strings.ToUpper)
	}
	attempt := func(b *node.Batch[*doc, string, int]) engine.ItemOutcome {
		p, err := engine.New(b)
		require.NoError(t, err)
		return p.Root().Items.Attempt(t.Context(), 3, []byte(`"word"`), guard.Progress{})
	}
	o := attempt(batch(io.EOF))
	assert.Equal(t, engine.Result{Index: 3, Key: "WORD", Attempts: 1, State: engine.Failed, Err: &engine.RemoteError{Message: "EOF"}}, o.Result)
	o = attempt(batch(io.EOF).WithFallback(func(context.Context, string, error) (int, error) { return 9, nil }))
	assert.Equal(t, engine.Done, o.State)
	assert.JSONEq(t, "9", string(o.Out))
	o = attempt(batch(io.EOF).WithRetry(retry.Policy{}))
	assert.True(t, o.Again)
	assert.Equal(t, io.EOF, o.Cause)
	o = attempt(batch(adaptive.ErrQuotaExhausted))
	assert.Equal(t, engine.Pending, o.State)
	assert.ErrorIs(t, o.Err, adaptive.ErrQuotaExhausted)
	o = attempt(node.Each("b", func(d *doc) []string { return d.Words },
		func(context.Context, string) (int, error) { panic("exec") }, func(*doc, []int) {}))
	assert.Equal(t, engine.Failed, o.State)
	assert.Contains(t, o.Err.Message, "exec")
}

// Post receives the results that exist, but a batch with pending items still fails.
func TestFinish(t *testing.T) {
	b := node.BatchFunc("b", none, size, func(_ context.Context, d *doc, r *node.Report[string, int]) (node.Action, error) {
		for f := range r.Failed() {
			d.Notes += f.Err.Error() + " of " + f.In
		}
		d.Sizes = r.Values()
		return "post", nil
	})
	p, err := engine.New(b)
	require.NoError(t, err)
	results := []engine.Result{
		{State: engine.Done, In: []byte(`"a"`), Out: []byte("1")},
		{Index: 1, State: engine.Failed, In: []byte(`"b"`), Err: &engine.RemoteError{Message: "no"}},
	}
	action, state, err := p.Root().Items.Finish(t.Context(), []byte("{}"), slices.Values(results), nil)
	require.NoError(t, err)
	assert.Equal(t, "post", action)
	assert.JSONEq(t, `{"Words":null,"Sizes":[1,0],"Notes":"no of b"}`, string(state))

	stopped := errors.New("stopped")
	_, _, err = p.Root().Items.Finish(t.Context(), []byte("{}"), slices.Values(results), stopped)
	require.ErrorAs(t, err, new(*node.BatchError))
	results[1].State = engine.Pending
	_, _, err = p.Root().Items.Finish(t.Context(), []byte("{}"), slices.Values(results), nil)
	require.ErrorAs(t, err, new(*node.BatchError))
}
