package flow

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"sync/atomic"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/node"
)

// Batch returns a batch of flows: it runs n once for every T that prep returns. Its
// limits count running instances, not calls.
//
// A T holds an instance's parameters and its result. Every attempt works on a copy of it, made by its
// method Clone() T if it has one and else by assignment. post receives the results; nil returns
// Report.Err. The value of an instance that is not done is T as prep returned it.
func Batch[S, T any](
	name string,
	prep func(context.Context, S) (iter.Seq2[T, error], error),
	n node.Node[*T],
	post func(context.Context, S, *node.Report[T, T]) (node.Action, error),
) *node.Batch[S, T, T] {
	return node.NewBatch[S, T, T](name, &instances[S, T]{name: name, prep: prep, inner: n, post: post, clones: mayClone[T]()})
}

// instances is the handler of a batch of flows.
type instances[S, T any] struct {
	name  string
	prep  func(context.Context, S) (iter.Seq2[T, error], error)
	inner node.Node[*T]
	post  func(context.Context, S, *node.Report[T, T]) (node.Action, error)

	clones bool // T may have a method Clone

	vouched

	vouches atomic.Bool // vouchInside was called
}

// Prep implements node.BatchHandler.
func (h *instances[S, T]) Prep(ctx context.Context, s S) (iter.Seq2[T, error], error) {
	return h.prep(ctx, s)
}

// Exec implements node.BatchHandler.
func (h *instances[S, T]) Exec(ctx context.Context, in T) (T, error) {
	return h.ExecItem(ctx, event.NoIndex, in)
}

// ExecItem is asked in place of Exec: one attempt at one instance.
func (h *instances[S, T]) ExecItem(ctx context.Context, index int64, in T) (T, error) {
	if !h.vouches.Load() {
		vouchInside(h.inner)
		h.vouches.Store(true)
	}
	t := in
	if h.clones {
		t = clone(in)
	}
	at := &frame{ctx, index, frameOf(ctx).depth}
	var err error
	if f, ok := h.inner.(*Flow[*T]); ok {
		at.depth++
		_, err = f.runIn(at, &t)
	} else {
		_, err = h.inner.Run(at, &t) //nolint:contextcheck // it is ctx
	}
	return t, err
}

// cloner has its own way to copy a T.
type cloner[T any] interface{ Clone() T }

// mayClone reports whether values of T, or pointers to them, may be a cloner. What is in an interface is not known before.
func mayClone[T any]() bool {
	t, c := reflect.TypeFor[T](), reflect.TypeFor[cloner[T]]()
	return t.Kind() == reflect.Interface || t.Implements(c) || reflect.PointerTo(t).Implements(c)
}

func clone[T any](t T) T {
	if c, ok := any(t).(cloner[T]); ok { // also if T is a pointer type
		return c.Clone()
	}
	if c, ok := any(&t).(cloner[T]); ok {
		return c.Clone()
	}
	return t
}

// Unfinished implements the optional method of a handler: an instance that is not done keeps
// its parameters, so that putting the values into the state loses none.
func (h *instances[S, T]) Unfinished(in T) T { return in }

// Post implements node.BatchHandler.
func (h *instances[S, T]) Post(ctx context.Context, s S, r *node.Report[T, T]) (node.Action, error) {
	if h.post == nil {
		return node.Next, r.Err()
	}
	return h.post(ctx, s, r)
}

// Validate implements the optional method of a handler. If the batch is inside itself, what
// else is inside is left to the flow that it is part of.
func (h *instances[S, T]) Validate() error { return h.check(false) }

// CheckForRun is called in place of Validate before the first run.
func (h *instances[S, T]) CheckForRun() error { return h.check(h.yes.Load()) }

// check joins the problems of the handler, and unless they are vouched for, of the nodes inside.
func (h *instances[S, T]) check(vouched bool) error {
	p := invalid.Problems{Owner: fmt.Sprintf("node %q", h.name)}
	if h.prep == nil {
		p.Addf("prep", "the function is nil")
	}
	h.checkInner(&p, vouched)
	return p.Err()
}

func (h *instances[S, T]) checkInner(p *invalid.Problems, vouched bool) {
	switch {
	case invalid.Nil(h.inner):
		p.Addf("n", "the node is nil")
	case !vouched && !recursive(h):
		p.Add(validate(h.inner))
	}
}

// Learners are the guards inside that learn: a journal of the batch keeps what.
func (h *instances[S, T]) Learners() []*guard.Guard {
	return guardsIn(h.inner, func(g *guard.Guard) bool { return g.Learner() == g })
}

// contents implements container.
func (h *instances[S, T]) contents() (any, []any) { return h, []any{h.inner} }

// draw implements container.
func (h *instances[S, T]) draw(d *diagram) { d.node(h.inner) }
