package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/internal/occurrence"
)

var errLeft = errors.New("node: the loop over the results was ended early")

// outlet takes the results of a run. begin is called in the order of the
// input, end in any order; both come from several goroutines.
type outlet[In, Out any] interface {
	begin(it *item[In])
	// end reports whether res came in time.
	end(res *Result[In, Out]) bool
	// origin is what the errors of the run are compared by.
	origin() any
	// close makes what has begun and not ended into what conclude makes of it;
	// what comes later is too late.
	close(conclude func(Result[In, Out]) Result[In, Out])
}

// roomy is an outlet that lets only so many items begin ahead of what was delivered.
type roomy interface {
	// reserve waits for room; false if ctx ended first. Only one goroutine calls it.
	reserve(ctx context.Context) bool
}

// run is one run of a batch. It is stopped in two stages: first the intake
// ends and nothing new begins; after the grace period the items' context ends
// as well. What does not return then is left behind.
type run[S, In, Out any] struct {
	b        *Batch[S, In, Out]
	src      source[In]
	out      outlet[In, Out]
	resume   *resume[In]            // nil without a journal
	commit   *committer[S, In, Out] // nil: there is neither a journal nor a sink
	observer event.Observer
	begun    []*atomic.Int64 // items, for observers
	traces   *traces         // nil without an item tracer
	attempts *emit.Tracers
	retries  bool         // an observer is sent them
	scoped   bool         // items inside are counted in the scope of the run
	guard    *guard.Guard // of the calls, but for what depends on the item
	bound    *guard.Guard // bounds the admitted calls; nil: the number of workers does

	ctx    context.Context         //nolint:containedctx // of the items, for as long as the run
	intake context.Context         //nolint:containedctx // of new items, for as long as the run
	around context.Context         //nolint:containedctx // its end ends the intake
	stop   context.CancelCauseFunc // ends the intake
	kill   context.CancelCauseFunc // ends the items, and with them the intake

	timed   bool                      // the run has a deadline
	active  atomic.Int64              // items that are worked on, if it has
	last    atomic.Pointer[lateError] // why the intake ended; nil while it is open
	hires   atomic.Int64              // workers that may still be started
	failed  atomic.Int64              // items
	pending atomic.Int64              // items
	over    chan struct{}             // closed when every worker has ended or been abandoned
	closing sync.Once                 // of over

	mu      sync.Mutex // guards everything below
	closed  bool
	workers map[*worker[In, Out]]struct{}
	reads   bool          // a goroutine reads the input
	undo    []func() bool // takes back what hangs on contexts and timers
	late    error         // of the first item that the deadline left pending while others went on
}

// launch starts the workers of a run.
func (b *Batch[S, In, Out]) launch(ctx context.Context, open opener[In], out outlet[In, Out]) (*run[S, In, Out], error) {
	own, err := b.guard()
	if err != nil {
		return nil, err
	}
	r := &run[S, In, Out]{
		b: b, out: out, observer: event.From(ctx),
		over: make(chan struct{}), workers: map[*worker[In, Out]]struct{}{},
	}
	if err := r.look(own); err != nil {
		return nil, err
	}
	if r.resume, err = b.openJournal(ctx); err != nil {
		return nil, err
	}
	launched := false
	defer func() { //nolint:contextcheck // also if ctx has ended, and if the journal or the sink calls runtime.Goexit
		if !launched {
			r.resume.close(nil, false)
		}
	}()
	if r.resume != nil {
		for _, l := range b.learners() {
			if err = r.resume.warm(ctx, l); err != nil {
				return nil, &JournalError{Node: b.name, Op: "open", Err: err}
			}
		}
	}
	if r.commit, err = r.commits(ctx); err != nil {
		return nil, err
	}
	launched = true
	if r.resume != nil {
		r.resume.beat(func(err error) { r.commit.journalFailed("renew", err) }) //nolint:contextcheck // for as long as the run
	}
	r.begun = emit.ItemCounters(r.observer, b.name)
	ctx, r.traces, r.attempts = traced(ctx, r.observer)
	outer, nested, release := around(ctx)
	if !nested {
		ctx = context.WithoutCancel(ctx) // the grace period outlives the caller's context
	}
	r.around = outer
	r.intake, r.stop = context.WithCancelCause(outer) // which ends it in the same moment
	ctx, kill := context.WithCancelCause(ctx)
	r.kill = func(cause error) {
		r.stop(cause)
		kill(cause)
	}
	r.ctx = intake.With(ctx, r.intake)
	r.scoped = occurrence.In(r.ctx)     //nolint:contextcheck // it is of the run
	_, r.timed = intake.Deadline(r.ctx) //nolint:contextcheck // it is of the run
	room, _ := out.(roomy)
	r.mu.Lock() // until a worker is there: a reader with nothing to read would otherwise end the run
	defer r.mu.Unlock()
	r.src = open(feed[In]{
		begin: r.begin, room: room, intake: r.intake, may: r.mayTake, workers: b.workers(),
		reading: r.reading, read: r.read,
	})
	r.undo = []func() bool{
		context.AfterFunc(r.intake, func() { r.leaveTime(outer, nested) }), //nolint:contextcheck // it is of the run
		context.AfterFunc(ctx, func() {
			r.stop(context.Cause(ctx)) // a context that was given an end of its own, inside an item of another run
			r.after(patience, r.end)
		}),
		release,
	}
	if r.commit != nil {
		go r.commit.run()
	}
	r.hires.Store(int64(b.workers()) - 1)
	r.hireLocked(nil)
	return r, nil
}

// begin is called with each item before a worker gets it.
func (r *run[S, In, Out]) begin(it *item[In]) {
	r.out.begin(it) // first: whatever becomes of it, it has its place
	r.started()
	for _, n := range r.begun {
		n.Add(1)
	}
	if r.resume != nil {
		r.resume.identify(it)
	}
}

// leaveTime begins the grace period of the running items. In a run that was stopped before its deadline it begins when outer,
// which has the deadline, ends. If outer is the intake of a run that was stopped in the same way, that run ends its items.
func (r *run[S, In, Out]) leaveTime(outer context.Context, nested bool) {
	grace := func() {
		if !nested || !early(outer) {
			r.after(r.b.grace, func() { r.kill(context.Cause(r.intake)) })
		}
	}
	if outer.Err() != nil || !early(r.intake) { //nolint:contextcheck // it is of the run
		grace()
		return
	}
	r.hang(func() func() bool { return context.AfterFunc(outer, grace) })
}

// after has f called after d; it does nothing in a run that is over by then.
func (r *run[S, In, Out]) after(d time.Duration, f func()) {
	r.hang(func() func() bool { return time.AfterFunc(d, f).Stop })
}

// hang registers a callback on a context or a timer, and records how to undo it.
func (r *run[S, In, Out]) hang(up func() (undo func() bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.undo = append(r.undo, up())
	}
}

func (r *run[S, In, Out]) end() { r.closing.Do(func() { close(r.over) }) }

// wait returns when no worker is left that is worth waiting for.
func (r *run[S, In, Out]) wait() { <-r.over }

// close releases the run's resources and abandons workers that are still busy. It returns why the run was stopped, if it was:
// by the failure policy, or before the end of its input.
func (r *run[S, In, Out]) close() error {
	if r.commit != nil {
		r.commit.wait()
	}
	r.mu.Lock()
	left := r.workers
	r.workers = map[*worker[In, Out]]struct{}{}
	undo := r.undo
	r.closed = true
	stopped := r.late
	r.mu.Unlock()

	cut := len(left) > 0 || r.pending.Load() > 0 || !r.src.exhausted()
	if r.intake.Err() != nil && (cut || r.failed.Load() > r.b.onError.allows()) {
		stopped = r.reason()
	}
	whole := !cut && r.intake.Err() == nil
	if r.commit != nil && r.commit.failure() != nil {
		stopped = r.commit.failure()
	}
	for _, f := range undo {
		f()
	}
	r.kill(context.Canceled)
	var handing []*worker[In, Out]
	for w := range left {
		if was := w.lose(); was == settling {
			handing = append(handing, w)
		} else if was > idle {
			t := w.task
			r.conclude(&t, w.giveUp())
			if r.commit != nil && r.commit.wants(&t) {
				r.lose(&t, t.res.Err) // no committer is left to record it
			}
			r.settle(&t)
		}
	}
	await(handing)
	r.out.close(func(res Result[In, Out]) Result[In, Out] {
		res.Out, res.Err = r.b.standIn(res.In), stopped
		r.tell(event.ItemAbandoned, &task[In, Out]{res: res})
		return res
	})
	r.traces.close(r.b.name)
	r.resume.close(r.observer, whole)
	if err := r.src.stop(); err != nil && stopped == nil {
		stopped = inputError(err)
	}
	return stopped
}

// reason returns why the intake ended. A run that stopped because its deadline left too little time says so, even if the
// deadline has since passed or the caller has cancelled.
func (r *run[S, In, Out]) reason() error {
	cause := context.Cause(r.intake)
	if late := r.last.Load(); late != nil && cause == context.Cause(r.around) { //nolint:errorlint // the cause itself
		return late
	}
	return cause
}

// take fills in the next item and returns false at the end. A panic of the input stops the run.
func (r *run[S, In, Out]) take(it *item[In]) bool {
	if r.ctx.Err() != nil {
		r.stop(context.Cause(r.ctx))
	}
	*it = item[In]{}
	ok, err := r.src.take(it)
	if err != nil {
		r.stop(inputError(err))
	}
	return ok
}

// mayTake reports whether another item may begin.
func (r *run[S, In, Out]) mayTake() bool { return r.intake.Err() == nil && r.last.Load() == nil }

func inputError(err error) error { return fmt.Errorf("the input failed: %w", err) }

// finish hands on what err makes of an item, unless the run is over.
func (r *run[S, In, Out]) finish(t *task[In, Out], err error) {
	r.conclude(t, err)
	if r.commit == nil || !r.commit.wants(t) {
		r.settle(t)
		return
	}
	if t.res.State == Failed {
		r.rule(t) // now, for more calls may begin before it is recorded
	}
	if !r.commit.put(t) {
		r.lose(t, errLate)
		r.settle(t)
	}
}

// errLate is of a result that came when the run was over.
var errLate = errors.New("node: the run had ended")

// lose makes t pending, because its result could not be made durable.
func (r *run[S, In, Out]) lose(t *task[In, Out], err error) {
	t.res.Out, t.res.State, t.res.Err = r.b.standIn(t.res.In), Pending, err
}

// rule counts t, which has failed, for the failure policy.
func (r *run[S, In, Out]) rule(t *task[In, Out]) {
	if t.ruled {
		return
	}
	t.ruled = true
	if !r.b.onError.counts(t.res.Err) {
		return
	}
	if n, most := r.failed.Add(1), r.b.onError.allows(); n > most {
		r.stop(&TooManyFailuresError{Failures: n, Allowed: most, Last: t.res.Err, of: r.out.origin(), index: t.res.Index})
	}
}

// settle hands on what became of an item, unless the run is over.
func (r *run[S, In, Out]) settle(t *task[In, Out]) {
	if t.entry != nil && t.entry.turn {
		r.resume.turns.Give(t.entry.content)
	}
	if !r.out.end(&t.res) {
		return
	}
	switch t.res.State {
	case Failed:
		r.rule(t)
		r.tell(event.ItemFailed, t)
	case Pending:
		r.pending.Add(1)
		if r.b.onError.limited && refused(t.res.Err) {
			r.stop(t.res.Err)
		}
		r.missed(t.res.Err)
		r.tell(event.ItemAbandoned, t)
	case Done:
		r.tell(event.ItemDone, t)
	case Resumed:
		r.tell(event.ItemResumed, t)
	}
}

// missed notes why an item is pending in a run that goes on.
func (r *run[S, In, Out]) missed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.late == nil && r.intake.Err() == nil {
		r.late = err
	}
}

// tell emits the event of an item's end.
func (r *run[S, In, Out]) tell(kind event.Kind, t *task[In, Out]) {
	if r.observer == nil {
		return
	}
	e := event.New(emit.Now(r.observer), kind, r.b.name)
	e.Index, e.Key, e.Attempt, e.Err = t.res.Index, t.res.Key, t.res.Attempts, t.res.Err
	if !t.began.IsZero() {
		e.Wait = e.Time.Sub(t.began)
	}
	r.traces.end(e)
	emit.Send(r.observer, e)
}

// conclude sets the state that err leaves an item in: what the stop of the run
// cut short, its deadline leaves no time for, the provider did not accept, or the
// store of the limits did not admit is pending, not failed.
func (r *run[S, In, Out]) conclude(t *task[In, Out], err error) {
	res := &t.res
	if e := t.entry; e != nil {
		e.sent = res.Attempts > 0 && !t.unsent
		res.Attempts += e.earlier
	}
	if res.Err = err; err == nil {
		if res.State = Done; t.entry != nil && t.entry.recorded {
			res.State = Resumed
		}
		return
	}
	res.Out, res.State = r.b.standIn(res.In), Failed // a fallback that fails may return a value all the same
	if r.intake.Err() != nil && cutShort(err, context.Cause(r.intake)) || tooLate(r.ctx, err) || unrecorded(err) || refused(err) {
		res.State = Pending
	}
}

// unrecorded reports whether a journal or a sink, here or further in, has
// failed: what became of the item is not known there.
func unrecorded(err error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	return errors.As(err, new(*JournalError)) || errors.As(err, new(*SinkError))
}

// cutShort reports whether err is that of code which was stopped because of cause.
func cutShort(err, cause error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	return errors.Is(err, context.Canceled) || errors.Is(err, cause)
}
