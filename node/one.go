package node

import "context"

// One returns a step with a result: exec computes it from the state, and put stores it. With WithJournal a resumed run calls
// put and not exec, so exec must not change the state. It is a batch of one item; its default key is the name of the node.
func One[S, Out any](
	name string,
	exec func(ctx context.Context, s S) (Out, error),
	put func(s S, out Out),
) *Batch[S, S, Out] {
	h := &one[S, Out]{each[S, S, Out]{
		items: func(s S) []S { return []S{s} },
		exec:  exec,
		put:   func(s S, outs []Out) { put(s, outs[0]) },
	}}
	b := NewBatch[S, S, Out](name, h)
	b.key = func(S) string { return name }
	if exec == nil {
		b.setup.Addf("exec", "the function is nil")
	}
	if put == nil {
		b.setup.Addf("put", "the function is nil")
	}
	return b
}

// one is the handler of One.
type one[S, Out any] struct{ each[S, S, Out] }

// OneItem marks a batch that is a step, for drawings and for counting items.
func (*one[S, Out]) OneItem() {}
