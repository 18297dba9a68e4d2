package node

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inside"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/throttle"
)

// codec is the JSON of a type, for an engine.
type codec[T any] struct{ *shape }

func codecOf[T any]() codec[T] { return codec[T]{shapeOf[T]()} }

func (c codec[T]) decode(data []byte) (v T, err error) {
	defer panics.Catch(&err)
	err = json.Unmarshal(data, &v)
	return v, err
}

// check reports what is not in the JSON of the type.
func (c codec[T]) check(p *invalid.Problems, what string) {
	if c.lost != "" {
		p.Addf(what, "it is sent as JSON, which leaves out %s: export it, tag it `json:\"-\"` if it may be lost, "+
			"or give its type MarshalJSON and UnmarshalJSON", c.lost)
	}
}

// encodeState returns the JSON of a state of any type.
func (c codec[T]) encodeState(state any) ([]byte, error) {
	s, ok := state.(T)
	if !ok {
		return nil, fmt.Errorf("the state is a %T and not a %s", state, c.of)
	}
	return c.encodeResult(&s)
}

// Part is for package engine.
func (n *Step[S]) Part(inside.Key) (p engine.Part, nodes []any, check func() error) {
	states := codecOf[S]()
	p = engine.Part{
		Kind: engine.Step, Name: n.name, Guard: n.made, Types: states.of.String(), Encode: states.encodeState,
		Run: func(ctx context.Context, state []byte, at guard.Progress) engine.Outcome {
			return n.once(ctx, states, state, at)
		},
	}
	return p, nil, func() error {
		problems := invalid.Problems{Owner: n.setup.Owner()}
		problems.Add(n.Validate())
		states.check(&problems, "state")
		return problems.Err()
	}
}

// once makes one attempt at the step, on a state of its own.
func (n *Step[S]) once(ctx context.Context, states codec[S], state []byte, at guard.Progress) (o engine.Outcome) {
	defer panics.Catch(&o.Err)
	s, err := states.decode(state)
	if err != nil {
		return engine.Outcome{Err: &ResultError{Value: string(state), Err: err}}
	}
	g, err := n.guard()
	if err != nil {
		return engine.Outcome{Err: err}
	}
	c := n.callOn(s)
	o.Next, o.Again, err = g.Attempt(ctx, c.cost, at, func(ctx context.Context) error { return c.attempt(ctx, ctx) })
	if o.Again {
		o.Err = err
		return o
	}
	action := Next
	if of := c.last.Load(); of != nil {
		action = of.action
	}
	if err != nil && n.fallback != nil && ctx.Err() == nil && !unadmitted(err) {
		action, err = n.fallback(ctx, s, err)
	}
	if err != nil {
		o.Err = err
		return o
	}
	o.Action = string(action)
	if o.State, err = states.encodeResult(&s); err != nil {
		o.Err = &ResultError{Value: s, Err: err}
	}
	return o
}

// Part is for package engine.
func (b *Batch[S, In, Out]) Part(inside.Key) (p engine.Part, nodes []any, check func() error) {
	t := &travelling[S, In, Out]{Batch: b, states: codecOf[S](), ins: codecOf[In](), outs: codecOf[Out]()}
	most := int64(-1)
	if b.onError.limited {
		most = b.onError.most
	}
	p = engine.Part{
		Kind: engine.Batch, Name: b.name, Guard: b.made, Encode: t.states.encodeState,
		Types: fmt.Sprintf("%s, %s, %s", t.states.of, t.ins.of, t.outs.of),
		Items: &engine.Items{
			Parallel: b.parallel, MostFailures: most,
			List: t.list, Attempt: t.once, Settle: t.settle, Finish: t.finish,
		},
	}
	if h, ok := b.handler.(interface{ Inner(key inside.Key) any }); ok {
		nodes = []any{h.Inner(inside.Key{})}
	}
	return p, nodes, func() error {
		problems := invalid.Problems{Owner: b.setup.Owner()}
		problems.Add(b.Validate())
		t.states.check(&problems, "state")
		t.ins.check(&problems, "items")
		t.outs.check(&problems, "results")
		if b.sink != nil {
			problems.Addf("WithSink", "a sink belongs to one machine: store the results in Post")
		}
		if b.onError.uncounted != nil {
			problems.Addf("WithOnError", "Except works within one process only: leave it out")
		}
		return problems.Err()
	}
}

// travelling is a batch with items that run on several machines.
type travelling[S, In, Out any] struct {
	*Batch[S, In, Out]

	states codec[S]
	ins    codec[In]
	outs   codec[Out]
}

// list lists the items of a state.
func (t *travelling[S, In, Out]) list(ctx context.Context, state []byte, yield func([]byte, error) error) (err error) {
	defer panics.Catch(&err)
	s, err := t.states.decode(state)
	if err != nil {
		return err
	}
	var items iter.Seq2[In, error]
	if h, ok := t.handler.(lister[S, In]); ok {
		items = Slice(h.ListItems(s))
	} else if items, err = t.handler.Prep(ctx, s); err != nil {
		return fmt.Errorf("prep: %w", err)
	}
	if items == nil {
		return nil
	}
	for in, err := range items {
		var data []byte
		if err == nil {
			data, err = t.ins.encodeResult(&in)
		}
		if err := yield(data, err); err != nil {
			return err
		}
	}
	return nil
}

// once makes one attempt at an item.
func (t *travelling[S, In, Out]) once(ctx context.Context, index int64, item []byte, at guard.Progress) (o engine.ItemOutcome) {
	o.Result = engine.Result{Index: index, State: engine.Failed}
	in, out, err := t.try(ctx, index, item, at, &o)
	if o.Again {
		o.Cause = err
		return o
	}
	o.Result = t.result(ctx, index, o.Next.Attempts, in, out, err)
	return o
}

func (t *travelling[S, In, Out]) try(
	ctx context.Context, index int64, item []byte, at guard.Progress, o *engine.ItemOutcome,
) (in In, out Out, err error) {
	defer panics.Catch(&err)
	if in, err = t.ins.decode(item); err != nil {
		return in, out, err
	}
	g, err := t.guard()
	if err != nil {
		return in, out, err
	}
	if t.withinOf != nil {
		g = t.joined(g, in)
	}
	var c throttle.Cost
	if t.cost != nil {
		c = t.cost(in)
	}
	var done atomic.Pointer[Out] // Exec may be abandoned, and return at any time
	o.Next, o.Again, err = g.Attempt(ctx, c, at, func(ctx context.Context) (err error) {
		defer func() {
			if f := t.verdict(ctx, err); f.Verdict != 0 {
				guard.Report(ctx, f)
			}
		}()
		defer panics.Catch(&err)
		out, err := t.exec(ctx, index, in)
		if err != nil {
			return err
		}
		if t.used != nil {
			guard.Use(ctx, t.used(in, out))
		}
		done.Store(&out)
		return nil
	})
	if v := done.Load(); v != nil && err == nil {
		out = *v
	}
	return in, out, err
}

// result is what err makes of an item.
func (t *travelling[S, In, Out]) result(ctx context.Context, index int64, attempts int, in In, out Out, err error) (r engine.Result) {
	r = engine.Result{Index: index, Attempts: attempts, State: engine.Failed}
	key := func() (err error) {
		defer panics.Catch(&err)
		if t.key != nil {
			r.Key = t.key(in)
		}
		return nil
	}
	if err == nil {
		err = key()
	} else {
		_ = key()
	}
	if err != nil && t.fallback != nil && ctx.Err() == nil && !unadmitted(err) {
		out, err = t.replace(ctx, in, err)
	}
	if err == nil {
		if r.Out, err = t.outs.encodeResult(&out); err == nil {
			r.State = engine.Done
			return r
		}
		err = &ResultError{Value: out, Err: err}
	}
	if refused(err) || unrecorded(err) {
		r.State = engine.Pending
	}
	r.Out, r.Err = nil, engine.Remote(err)
	return r
}

func (t *travelling[S, In, Out]) replace(ctx context.Context, in In, cause error) (out Out, err error) {
	defer panics.Catch(&err)
	return t.fallback(ctx, in, cause)
}

// settle returns the outcome of an item after the engine has run its flow.
func (t *travelling[S, In, Out]) settle(ctx context.Context, index int64, item, result []byte, err error) engine.Result {
	in, problem := t.ins.decode(item)
	var out Out
	if problem == nil && err == nil {
		out, problem = t.outs.decode(result)
	}
	if problem != nil {
		err = problem
	}
	return t.result(ctx, index, 1, in, out, err)
}

// finish stores the results in the state.
func (t *travelling[S, In, Out]) finish(
	ctx context.Context, state []byte, all iter.Seq[engine.Result], stopped error,
) (action string, after []byte, err error) {
	defer panics.Catch(&err)
	s, err := t.states.decode(state)
	if err != nil {
		return "", nil, err
	}
	kept := newResults[In, Out](t.key != nil, 0)
	for r := range all {
		res, err := t.resultOf(&r)
		if err != nil {
			return "", nil, err
		}
		res.Index = int64(len(kept.fates))
		kept.add(&item[In]{index: res.Index, in: res.In})
		kept.set(&res)
		if res.State == Pending && stopped == nil {
			stopped = res.Err
		}
	}
	report := &Report[In, Out]{node: t.name, results: kept, stopped: stopped}
	next, err := t.handler.Post(ctx, s, report)
	if err == nil && stopped != nil {
		err = report.Err()
	}
	if err != nil {
		return "", nil, err
	}
	after, err = t.states.encodeResult(&s)
	return string(next), after, err
}

func (t *travelling[S, In, Out]) resultOf(r *engine.Result) (res Result[In, Out], err error) {
	res = Result[In, Out]{Key: r.Key, Attempts: r.Attempts, State: Pending}
	if r.Err != nil {
		res.Err = r.Err
	}
	if len(r.In) > 0 {
		if res.In, err = t.ins.decode(r.In); err != nil {
			return res, err
		}
	}
	switch r.State {
	case engine.Done:
		res.State = Done
		res.Out, err = t.outs.decode(r.Out)
		return res, err
	case engine.Failed:
		res.State = Failed
	}
	res.Out = t.standIn(res.In)
	return res, nil
}
