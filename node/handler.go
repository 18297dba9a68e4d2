package node

import (
	"context"
	"iter"

	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/throttle"
)

// BatchHandler is the code of a batch, as a type. These methods are optional:
//
//	Key(in In) string
//	Cost(in In) throttle.Cost
//	Used(in In, out Out) throttle.Cost
//	Fallback(ctx context.Context, in In, err error) (Out, error)
//	Unfinished(in In) Out // stands for an item without a result
//	Validate() error      // is called before the first run
//
// Validate and Run report a method that is spelt or typed almost like one of them.
type BatchHandler[S, In, Out any] interface {
	// Prep returns the items, which may be produced lazily and without an end.
	// An error in the sequence is the failure of one item.
	Prep(ctx context.Context, s S) (iter.Seq2[In, error], error)
	// Exec works on one item, without access to S. It should return when ctx ends.
	Exec(ctx context.Context, in In) (Out, error)
	// Post receives all results once no item is running, also after a stop, and
	// stores them in s. Return r.Err() to fail on any failed item. ctx is that of Run.
	Post(ctx context.Context, s S, r *Report[In, Out]) (Action, error)
}

// The optional methods of a handler.
type (
	// keyer names an item by its content, for results and events.
	keyer[In any] interface{ Key(in In) string }
	// coster estimates what an item costs, to reserve it.
	coster[In any] interface{ Cost(in In) throttle.Cost }
	// settler returns what an item really cost, to correct the reservation.
	settler[In, Out any] interface {
		Used(in In, out Out) throttle.Cost
	}
	// fallbacker replaces the result of an item after its last attempt has failed.
	fallbacker[In, Out any] interface {
		Fallback(ctx context.Context, in In, err error) (Out, error)
	}
	// placeholder returns the value of an item without a result, for Values and All, where the zero Out could be mistaken for a
	// result.
	placeholder[In, Out any] interface {
		Unfinished(in In) Out
	}
	// validator checks the handler's own configuration before the first run.
	validator interface{ Validate() error }
)

// indexed is a handler of this module that wants to know which item it works on: flow.Batch.
type indexed[In, Out any] interface {
	ExecItem(ctx context.Context, index int64, in In) (Out, error)
}

// vouching is a handler of this module that validates less before the first run if what is inside was validated with an outer
// flow: flow.Batch.
type vouching interface{ CheckForRun() error }

// validated calls validate. A panic counts as a problem.
func validated(validate func() error) (err error) {
	defer panics.Catch(&err)
	return validate()
}

// Defaults can be embedded in a handler to get a Post that returns Report.Err.
type Defaults[S, In, Out any] struct{}

// Post returns Next and r.Err().
func (Defaults[S, In, Out]) Post(_ context.Context, _ S, r *Report[In, Out]) (Action, error) {
	return Next, r.Err()
}

// funcs makes a handler of three functions.
type funcs[S, In, Out any] struct {
	prep func(context.Context, S) (iter.Seq2[In, error], error)
	exec func(context.Context, In) (Out, error)
	post func(context.Context, S, *Report[In, Out]) (Action, error)
}

func (f *funcs[S, In, Out]) Prep(ctx context.Context, s S) (iter.Seq2[In, error], error) {
	return f.prep(ctx, s)
}

func (f *funcs[S, In, Out]) Exec(ctx context.Context, in In) (Out, error) { return f.exec(ctx, in) }

func (f *funcs[S, In, Out]) Post(ctx context.Context, s S, r *Report[In, Out]) (Action, error) {
	if f.post == nil {
		return Next, r.Err()
	}
	return f.post(ctx, s, r)
}
