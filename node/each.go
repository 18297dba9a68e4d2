package node

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/headrace/headrace/internal/emit"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/invalid"
)

// Each returns a batch over a slice: items lists it, exec works on one item, and put stores the
// results in the order of the items. put runs only if every item is Done or Resumed; otherwise the
// batch fails with a *BatchError.
func Each[S, In, Out any](
	name string,
	items func(s S) []In,
	exec func(ctx context.Context, in In) (Out, error),
	put func(s S, outs []Out),
) *Batch[S, In, Out] {
	b := NewBatch[S, In, Out](name, &each[S, In, Out]{items: items, exec: exec, put: put})
	if items == nil {
		b.setup.Addf("items", "the function is nil")
	}
	if exec == nil {
		b.setup.Addf("exec", "the function is nil")
	}
	if put == nil {
		b.setup.Addf("put", "the function is nil")
	}
	return b
}

// each is the handler of Each.
type each[S, In, Out any] struct {
	items func(S) []In
	exec  func(context.Context, In) (Out, error)
	put   func(S, []Out)
}

// ListItems implements lister.
func (h *each[S, In, Out]) ListItems(s S) []In { return h.items(s) }

// Prep implements BatchHandler.
func (h *each[S, In, Out]) Prep(_ context.Context, s S) (iter.Seq2[In, error], error) {
	return Slice(h.items(s)), nil
}

// Exec implements BatchHandler.
func (h *each[S, In, Out]) Exec(ctx context.Context, in In) (Out, error) { return h.exec(ctx, in) }

// Post implements BatchHandler.
func (h *each[S, In, Out]) Post(_ context.Context, s S, r *Report[In, Out]) (Action, error) {
	if err := r.Err(); err != nil {
		return Next, err
	}
	h.put(s, r.Values())
	return Next, nil
}

// lister is a handler of this module with its items in a slice. ListItems is used instead of Prep for Each, One and flow.Each:
// the number of items is known before the first one begins, and a run that is stopped after the last one is complete.
type lister[S, In any] interface{ ListItems(s S) []In }

// collection is a run's items, the outlet of their results, and the report of these.
type collection[In, Out any] struct {
	open   opener[In]
	out    outlet[In, Out]
	report *Report[In, Out]
}

// listed is for items that are all there. A journal numbers equal items in their order, so it needs them in order.
func (b *Batch[S, In, Out]) listed(items []In) collection[In, Out] {
	if b.journal != nil || b.sink != nil {
		r := b.report(newResults[In, Out](b.key != nil, len(items)))
		return collection[In, Out]{listed(items), r, r}
	}
	rows := newTable[In, Out](b.key != nil, items)
	t := &table[In, Out]{Report: b.report(rows), rows: rows}
	return collection[In, Out]{t.open, t, t.Report}
}

// input returns what a run has to work on.
func (b *Batch[S, In, Out]) input(ctx context.Context, s S) (t collection[In, Out], err error) {
	if h, ok := b.handler.(lister[S, In]); ok {
		items := h.ListItems(s)
		b.sendInput(ctx, len(items))
		return b.listed(items), nil
	}
	seq, err := b.handler.Prep(ctx, s)
	if err != nil {
		return t, fmt.Errorf("prep: %w", err)
	}
	r := b.report(newResults[In, Out](b.key != nil, 0))
	if b.sink != nil {
		r = b.report(newSummary[In, Out]())
	}
	return collection[In, Out]{pulled(seq), r, r}, nil
}

// sendInput reports how many items the run has.
func (b *Batch[S, In, Out]) sendInput(ctx context.Context, items int) {
	if o := event.From(ctx); o != nil {
		e := event.New(time.Now(), event.NodeInput, b.name)
		e.To = float64(items)
		emit.Send(o, e)
	}
}

// checkList refuses what leaves put without values.
func (b *Batch[S, In, Out]) checkList(p *invalid.Problems) {
	if _, ok := b.handler.(lister[S, In]); ok && b.sink != nil {
		p.Addf("WithSink", "a run with a sink keeps no values for put: use BatchFunc, or flow.Batch")
	}
}
