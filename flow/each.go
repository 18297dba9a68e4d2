package flow

import (
	"context"
	"fmt"
	"iter"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/node"
)

// Each is Batch over a slice: it runs n once for every T of items, and put stores the results in the
// order of the items. put runs only if every instance is done; otherwise the batch fails with a
// *node.BatchError.
func Each[S, T any](name string, items func(s S) []T, n node.Node[*T], put func(s S, done []T)) *node.Batch[S, T, T] {
	h := &eachInstance[S, T]{items: items, put: put}
	h.name, h.inner = name, n
	h.prep = func(_ context.Context, s S) (iter.Seq2[T, error], error) { return node.Slice(items(s)), nil }
	h.post = func(_ context.Context, s S, r *node.Report[T, T]) (node.Action, error) {
		if err := r.Err(); err != nil {
			return node.Next, err
		}
		put(s, r.Values())
		return node.Next, nil
	}
	return node.NewBatch[S, T, T](name, h)
}

// eachInstance is the handler of Each.
type eachInstance[S, T any] struct {
	instances[S, T]

	items func(S) []T
	put   func(S, []T)
}

// ListItems is called in place of Prep: see node.Each.
func (h *eachInstance[S, T]) ListItems(s S) []T { return h.items(s) }

// Validate implements the optional method of a handler.
func (h *eachInstance[S, T]) Validate() error { return h.check(false) }

// CheckForRun is called in place of Validate before the first run.
func (h *eachInstance[S, T]) CheckForRun() error { return h.check(h.yes.Load()) }

func (h *eachInstance[S, T]) check(vouched bool) error {
	p := invalid.Problems{Owner: fmt.Sprintf("node %q", h.name)}
	if h.items == nil {
		p.Addf("items", "the function is nil")
	}
	if h.put == nil {
		p.Addf("put", "the function is nil")
	}
	h.checkInner(&p, vouched)
	return p.Err()
}
