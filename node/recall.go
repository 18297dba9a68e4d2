package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/journal"
)

// entry is what the journal and an item have to do with each other.
type entry struct {
	content    string
	occurrence int64

	earlier  int    // attempts, of earlier runs
	first    bool   // no item before it in this run was of the same key
	turn     bool   // at its content, for Dedup
	recorded bool   // the journal has it as it is
	behind   bool   // the output may lack what an earlier run has recorded of it
	sent     bool   // the provider may have worked on it in this run
	value    []byte // of what is done, for the journal
}

// recall looks up the recorded outcome of t. done reports that the item has ended, with err.
func (r *run[S, In, Out]) recall(t *task[In, Out]) (done bool, err error) {
	was, err := r.resume.look(r.ctx, t.entry)
	if err != nil {
		return true, r.journalFailed("begin", err)
	}
	t.entry.earlier = was.Attempts
	t.entry.behind = r.resume.behind(t.entry, &was)
	switch was.State {
	case journal.Done:
		if err := decode(was.Value, &t.res.Out); err != nil {
			return true, r.journalFailed("decode", fmt.Errorf("the recorded result of %q cannot be decoded as %T: "+
				"give WithVersion when the type changes: %w", t.entry.content, t.res.Out, err))
		}
		t.entry.recorded = true
		r.resume.stale.note(r.resume.opened, was.Ended)
		return true, nil
	case journal.Failed:
		if !r.resume.retry || !t.entry.first {
			t.entry.recorded = true
			return true, &RecordedError{Text: was.Err, Attempts: was.Attempts}
		}
		if t.entry.behind { // it comes again
			t.entry.behind = false
			r.resume.dropped.Add(1)
		}
	case journal.Unknown, journal.Pending:
	}
	return false, nil
}

// look asks the journal for e; with Dedup, once no other worker has an item of
// the same content.
func (r *resume[In]) look(ctx context.Context, e *entry) (was journal.Record, err error) {
	defer panics.Catch(&err)
	if r.turns != nil {
		if err := r.turn(ctx, e); err != nil {
			return was, err
		}
	}
	if was, err = r.journal.Begin(ctx, r.keyOf(e), time.Now(), r.retry && e.first); err != nil {
		return was, err
	}
	if was.State != journal.Unknown && e.first {
		r.known.Found()
	}
	return was, nil
}

// turn waits for e's turn at its content. Without records from before, and without an
// output that is written again, it does not matter which item is the first.
func (r *resume[In]) turn(ctx context.Context, e *entry) error {
	for {
		busy := r.turns.Take(e.content)
		if busy == nil {
			e.turn = true
			break
		}
		if err := waitFor(ctx, busy); err != nil {
			return err
		}
	}
	if r.known.Earlier() > 0 || r.retry || r.rewrites {
		e.first = r.known.Next(e.content) == 0
	}
	return nil
}

// waitFor waits until over is closed, or nothing new may begin under ctx.
func waitFor(ctx context.Context, over <-chan struct{}) error {
	in, _ := intake.Of(ctx)
	select {
	case <-over:
	case <-ctx.Done():
	case <-in.Done():
	}
	return intake.Ended(ctx)
}

// journalFailed stops the run. Its items are pending.
func (r *run[S, In, Out]) journalFailed(op string, err error) error {
	if stopped := intake.Ended(r.ctx); stopped != nil && cutShort(err, stopped) {
		return stopped
	}
	failed := &JournalError{Node: r.b.name, Op: op, Err: err}
	r.stop(failed)
	return failed
}

// refused reports whether err is how a guard ends a call that the provider
// rejected, or that was not sent because the store of its limits failed. What it
// makes of other errors is in entry.sent.
func refused(err error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	if errors.As(err, new(*ResultError)) {
		return false
	}
	return adaptive.Refused(err) || unadmitted(err)
}

// unadmitted reports whether the store of the limits has failed, so that the call was not sent.
func unadmitted(err error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	return errors.As(err, new(*inflight.StoreError))
}

// record returns the outcome of t for the journal.
func (r *resume[In]) record(e *entry, state State, err error, attempts int) journal.Record {
	rec := journal.Record{Key: r.keyOf(e), State: journal.Done, Value: e.value, Attempts: attempts, Ended: time.Now()}
	if state == Failed {
		rec.State, rec.Value, rec.Err = journal.Failed, nil, errorText(err)
	}
	return rec
}

// take has t end as the journal has it, since another attempt was recorded first.
func (t *task[In, Out]) take(known journal.Record) error {
	switch known.State {
	case journal.Done:
		var out Out
		if err := decode(known.Value, &out); err != nil {
			return err
		}
		t.res.Out, t.res.State, t.res.Err = out, Resumed, nil
	case journal.Failed:
		var none Out
		t.res.Out, t.res.State = none, Failed
		t.res.Err = &RecordedError{Text: known.Err, Attempts: known.Attempts}
	default:
		return fmt.Errorf("the record of %q is gone: was the run forgotten while it was running?", known.Key.Content)
	}
	t.res.Attempts = known.Attempts
	return nil
}

// decode may run code of the user's too.
func decode(text []byte, to any) (err error) {
	defer panics.Catch(&err)
	return json.Unmarshal(text, to)
}
