package node

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/throttle"
)

// Batch is a node that works on many items. Chain its settings after the constructor: the first run
// freezes them. It may run any number of times, also concurrently, always with the same guard.
type Batch[S, In, Out any] struct {
	settings

	handler   BatchHandler[S, In, Out]
	exec      func(ctx context.Context, index int64, in In) (Out, error) // the handler's
	parallel  int
	lookahead int // 0: none, unless there is withinOf
	withinOf  func(In) *guard.Guard
	window    int
	unordered bool
	onError   Tolerance
	grace     time.Duration
	key       func(In) string
	cost      func(In) throttle.Cost
	used      func(In, Out) throttle.Cost
	fallback  func(context.Context, In, error) (Out, error)

	placeholder func(In) Out

	version     string
	retryFailed bool
	dedup       bool
	items       *shape                 // of In; nil without a journal
	results     *shape                 // of Out; likewise
	sink        Sink[In, Out]          // may be nil
	text        texter[Out]            // sink, if it is one; else nil
	sinking     chan struct{}          // holds one while the sink of runs at once writes
	writing     atomic.Bool            // a run has the ResumableSink
	written     atomic.Pointer[string] // without a journal, the mark of the last run
}

// defaultGrace is how long running items may go on when a run is stopped.
const defaultGrace = 10 * time.Second

// NewBatch returns a batch that runs h.
func NewBatch[S, In, Out any](name string, h BatchHandler[S, In, Out]) *Batch[S, In, Out] {
	b := &Batch[S, In, Out]{grace: defaultGrace, sinking: make(chan struct{}, 1)}
	b.init(name)
	b.parallel = 1
	if invalid.Nil(h) {
		b.setup.Addf("handler", "it is nil")
		return b
	}
	b.handler, b.shown = h, h
	b.exec = func(ctx context.Context, _ int64, in In) (Out, error) { return h.Exec(ctx, in) }
	if h, ok := h.(indexed[In, Out]); ok {
		b.exec = h.ExecItem
	}
	checkOptional[S, In, Out](h, &b.setup)
	if h, ok := h.(keyer[In]); ok {
		b.key = h.Key
	}
	if h, ok := h.(coster[In]); ok {
		b.cost = h.Cost
	}
	if h, ok := h.(settler[In, Out]); ok {
		b.used = h.Used
	}
	if h, ok := h.(fallbacker[In, Out]); ok {
		b.fallback = h.Fallback
	}
	if h, ok := h.(placeholder[In, Out]); ok {
		b.placeholder = h.Unfinished
	}
	return b
}

// BatchFunc returns a batch of three functions: prep returns the items, exec works on one, and post
// receives the report, also of a run that failed or was stopped. A nil post returns Report.Err.
func BatchFunc[S, In, Out any](
	name string,
	prep func(context.Context, S) (iter.Seq2[In, error], error),
	exec func(context.Context, In) (Out, error),
	post func(context.Context, S, *Report[In, Out]) (Action, error),
) *Batch[S, In, Out] {
	b := NewBatch[S, In, Out](name, &funcs[S, In, Out]{prep, exec, post})
	if prep == nil {
		b.setup.Addf("prep", "the function is nil")
	}
	if exec == nil {
		b.setup.Addf("exec", "the function is nil")
	}
	return b
}

// Map returns a batch without shared state, for All and Stream. As a node of a flow it has no items.
func Map[In, Out any](name string, f func(ctx context.Context, in In) (Out, error)) *Batch[None, In, Out] {
	prep := func(context.Context, None) (iter.Seq2[In, error], error) { return Slice[In](nil), nil }
	return BatchFunc(name, prep, f, nil)
}

// Name returns the batch's name.
func (b *Batch[S, In, Out]) Name() string { return b.name }

// Validate joins all problems of the settings and of the handler, each a *fault.FieldError. Run, All
// and Stream call it first.
func (b *Batch[S, In, Out]) Validate() error {
	return b.check(func() error {
		if h, ok := b.handler.(validator); ok {
			return h.Validate()
		}
		return nil
	})
}

// checkForRun is Validate before the first run.
func (b *Batch[S, In, Out]) checkForRun() error {
	if h, ok := b.handler.(vouching); ok {
		return b.check(h.CheckForRun)
	}
	return b.Validate()
}

// check joins the problems of the settings and of the handler.
func (b *Batch[S, In, Out]) check(handler func() error) error {
	return b.validate(b.cost != nil || b.used != nil, func(p *invalid.Problems) {
		p.Add(validated(handler))
		b.checkJournal(p)
		b.checkList(p)
		if b.window != 0 && b.window < b.parallel {
			p.Addf("WithWindow", "%d is below the %d of WithParallel: workers could not all work", b.window, b.parallel)
		}
	})
}

// Run implements Node. A run that was stopped, by ctx or by WithOnError, or that leaves items pending,
// fails with a *BatchError even if Post does not.
func (b *Batch[S, In, Out]) Run(ctx context.Context, s S) (action Action, err error) {
	if err := b.setup.Use(b.checkForRun); err != nil {
		return Next, err
	}
	ctx, of := b.started(ctx)
	err = errGoexit // unless it returns
	defer func() { of.finished(err) }()
	action, err = b.run(ctx, s)
	return action, err
}

func (b *Batch[S, In, Out]) run(ctx context.Context, s S) (action Action, err error) {
	defer panics.Catch(&err)
	t, err := b.input(ctx, s)
	if err != nil {
		return Next, err
	}
	if err := b.collect(ctx, t); err != nil {
		return Next, err
	}
	r := t.report
	action, err = b.handler.Post(ctx, s, r)
	if err == nil && r.stopped != nil {
		err = r.Err()
	}
	return action, err
}

// All works on items and returns one Out for each, in their order. If any item is not done the error
// is a *BatchError, and its Out is the zero Out or that of Unfinished. When ctx ends no item begins,
// and running items may finish: see WithGrace. It calls neither Prep nor Post.
func (b *Batch[S, In, Out]) All(ctx context.Context, items []In) (outs []Out, err error) {
	if err := b.setup.Use(b.checkForRun); err != nil {
		return nil, err
	}
	ctx, of := b.started(ctx)
	defer func() { of.finished(err) }()
	b.sendInput(ctx, len(items))
	t := b.listed(items)
	if err := b.collect(ctx, t); err != nil {
		return nil, err
	}
	r := t.report
	all := r.results.(*results[In, Out]) //nolint:forcetypeassert // see listed
	for i := len(all.ins); i < len(items); i++ {
		all.add(&item[In]{index: int64(i), in: items[i]})
		all.set(&Result[In, Out]{Index: int64(i), Out: b.standIn(items[i]), Err: r.stopped})
	}
	if c := r.Counts(); c.Done+c.Resumed == int64(len(items)) && !unrecorded(r.stopped) {
		r.stopped = nil // it was stopped after the last item: nothing is missing
	}
	return all.outs, r.Err()
}

func (b *Batch[S, In, Out]) report(k keeper[In, Out]) *Report[In, Out] {
	return &Report[In, Out]{node: b.name, results: k}
}

// collect works on t until its report is complete.
func (b *Batch[S, In, Out]) collect(ctx context.Context, t collection[In, Out]) error {
	r, err := b.launch(ctx, t.open, t.out)
	if err != nil {
		return err
	}
	report := t.report
	r.wait()
	report.stopped = r.close()
	if r.resume != nil {
		report.leftover = r.resume.left
		report.stale, _ = r.resume.stale.count()
	}
	return nil
}

// standIn returns the value of an item without a result: the zero Out if the handler's Unfinished panics.
func (b *Batch[S, In, Out]) standIn(in In) (none Out) {
	defer func() { _ = recover() }()
	if b.placeholder != nil {
		none = b.placeholder(in)
	}
	return none
}

// Stream works on seq and yields results in the order of the input, or as they finish with Unordered.
// A failed item has its error in the Result. The error beside it is that of the run, and comes last.
// Leaving the loop stops the run at once and leaks nothing. It calls neither Prep nor Post.
func (b *Batch[S, In, Out]) Stream(ctx context.Context, seq iter.Seq2[In, error]) iter.Seq2[Result[In, Out], error] {
	return func(yield func(Result[In, Out], error) bool) {
		err := b.stream(ctx, seq, func(r Result[In, Out]) bool { return yield(r, nil) })
		if err != nil {
			yield(Result[In, Out]{}, err)
		}
	}
}

// stream returns the error of the run. It is nil if yield ended the iteration.
func (b *Batch[S, In, Out]) stream(ctx context.Context, seq iter.Seq2[In, error], yield func(Result[In, Out]) bool) error {
	if err := b.setup.Use(b.checkForRun); err != nil {
		return err
	}
	window := b.window
	if window == 0 {
		window = max(windowOfEach*b.parallel, b.workers())
	}
	ctx, of := b.started(ctx)
	line := newLine[In, Out](window, b.unordered)
	r, err := b.launch(ctx, pulled(seq), line)
	if err != nil {
		of.finished(err)
		return err
	}
	left := true // the loop was left, by break or by a panic of its body
	defer func() {
		if left {
			r.kill(errLeft)
			r.wait()
			of.finished(r.close())
		}
	}()
	if !line.deliver(r.over, yield) {
		return nil
	}
	left = false
	stopped := r.close()
	of.finished(stopped)
	if !line.rest(yield) || stopped == nil {
		return nil
	}
	return fmt.Errorf("node %q: stopped: %w", b.name, stopped)
}
