package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/journal"
)

const (
	// commitMost is how many results are made durable together. They are those that
	// came while the group before was being written: nobody waits for more to come.
	commitMost = 64
	// commitPatience is how long a run that is over waits for its last results to be durable.
	commitPatience = 10 * time.Second
	// rewriting is the mark of an output that is behind the records.
	rewriting = "!"
)

// errHung is why items are pending that had a result when the run ended.
var errHung = fmt.Errorf("it has not returned within %v of the end of the run", commitPatience)

// committer makes results durable and hands them on after that, in groups: the
// lines to the sink, the records to the journal, the results to the outlet.
type committer[S, In, Out any] struct {
	r       *run[S, In, Out]
	sink    Sink[In, Out]          // nil: there is none
	resumer ResumableSink[In, Out] // sink, if it is one
	rewrite bool                   // the output is behind the records, and resumed results are for it too
	queue   chan task[In, Out]
	ctx     context.Context //nolint:containedctx // for as long as the run, and then for commitPatience
	cancel  context.CancelFunc

	last sync.Once
	over chan struct{} // closed when nothing more is put
	done chan struct{} // closed when all is committed

	saved time.Time // when the law was saved last

	journalErr atomic.Pointer[JournalError] // what ended recording
	sinkErr    atomic.Pointer[SinkError]    // what ended writing
}

// commits returns what makes the results of r durable; nil if nobody asks for that.
func (r *run[S, In, Out]) commits(ctx context.Context) (*committer[S, In, Out], error) {
	if r.b.journal == nil && r.b.sink == nil {
		return nil, nil
	}
	c := &committer[S, In, Out]{
		r: r, sink: r.b.sink, queue: make(chan task[In, Out], 2*commitMost),
		over: make(chan struct{}), done: make(chan struct{}), saved: time.Now(),
	}
	c.resumer, _ = c.sink.(ResumableSink[In, Out])
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx)) //nolint:gosec // wait calls it
	return c, nil
}

// prepare has the output go on where the records end.
func (c *committer[S, In, Out]) prepare(ctx context.Context) error {
	mark, recorded := "", int64(0)
	if c.r.resume != nil {
		mark, recorded = c.r.resume.progress.Mark, c.r.resume.progress.Done+c.r.resume.progress.Failed
	}
	c.rewrite = mark == rewriting || mark == "" && recorded > 0
	if c.resumer == nil {
		return nil
	}
	if c.rewrite {
		mark = ""
	}
	ok, err := c.resumer.Resume(ctx, mark)
	if err == nil && !ok {
		c.rewrite = true
		ok, err = c.resumer.Resume(ctx, "")
	}
	if err == nil && !ok {
		err = errors.New("it cannot begin anew")
	}
	if err != nil {
		return &SinkError{Node: c.r.b.name, Err: err}
	}
	return nil
}

// wants reports whether t is to be committed. A failure that was never sent is
// not: the next run has another chance.
func (c *committer[S, In, Out]) wants(t *task[In, Out]) bool {
	switch t.res.State {
	case Done:
		return true
	case Resumed:
		return c.rewrite && c.sink != nil
	case Failed:
		return !t.recorded && (t.res.Attempts > 0 || c.r.resume == nil) || t.recorded && c.rewrite && c.sink != nil
	default:
		return false
	}
}

// put hands t over; false if nobody commits any more.
func (c *committer[S, In, Out]) put(t *task[In, Out]) bool {
	select {
	case c.queue <- *t:
		return true
	case <-c.done:
		return false
	}
}

// run commits until nothing more is put.
func (c *committer[S, In, Out]) run() {
	defer c.r.end()
	defer close(c.done)
	group := make([]task[In, Out], 0, commitMost)
	for {
		select {
		case t := <-c.queue:
			group = append(group[:0], t)
		case <-c.over:
			for group = c.gather(group[:0]); len(group) > 0; group = c.gather(group[:0]) {
				c.commit(group)
			}
			c.complete()
			c.saveLaw()
			return
		}
		group = c.gather(group)
		c.commit(group)
		clear(group)
	}
}

// gather adds what is there to group.
func (c *committer[S, In, Out]) gather(group []task[In, Out]) []task[In, Out] {
	for len(group) < commitMost {
		select {
		case t := <-c.queue:
			group = append(group, t)
		default:
			return group
		}
	}
	return group
}

func (c *committer[S, In, Out]) finish() { c.last.Do(func() { close(c.over) }) }

// wait waits, but not for ever, until everything is committed. What hangs in the
// sink or the journal is left behind.
func (c *committer[S, In, Out]) wait() {
	c.finish()
	patience := time.NewTimer(commitPatience)
	defer patience.Stop()
	select {
	case <-c.done:
	case <-patience.C:
		c.journalErr.CompareAndSwap(nil, &JournalError{Node: c.r.b.name, Op: "finish", Err: errHung})
	}
	c.cancel()
}

// commit makes group durable and hands it on. Without its record an item is
// pending; a sink that has failed is passed over, for the next run writes everything again.
func (c *committer[S, In, Out]) commit(group []task[In, Out]) {
	mark := c.output(group)
	if c.sink != nil && (c.rewrite || c.sinkErr.Load() != nil) {
		mark = rewriting
	}
	c.record(group, mark)
	failed := c.journalErr.Load()
	for i := range group {
		t := &group[i]
		if failed != nil && !t.recorded {
			t.res.Out, t.res.State, t.res.Err = c.r.b.standIn(t.res.In), Pending, failed
		}
		c.r.settle(t)
	}
	if time.Since(c.saved) > saveEvery {
		c.saveLaw()
	}
}

// output gives group to the sink, unless that has failed, and returns the mark of its end.
func (c *committer[S, In, Out]) output(group []task[In, Out]) (mark string) {
	if c.sink == nil || c.sinkErr.Load() != nil {
		return ""
	}
	mark, err := c.write(group)
	if err != nil {
		failed := &SinkError{Node: c.r.b.name, Err: err}
		c.sinkErr.Store(failed)
		c.r.stop(failed)
	}
	return mark
}

func (c *committer[S, In, Out]) write(group []task[In, Out]) (mark string, err error) {
	defer caught(&err)
	results := make([]Result[In, Out], len(group))
	for i := range group {
		results[i] = group[i].res
	}
	if err := c.sink.Write(c.ctx, results); err != nil {
		return "", err
	}
	if c.resumer == nil {
		return "", nil
	}
	return c.resumer.Sync(c.ctx)
}

// record has the journal keep what group has come to, unless it has failed.
func (c *committer[S, In, Out]) record(group []task[In, Out], mark string) {
	if c.r.resume == nil || c.journalErr.Load() != nil {
		return
	}
	if op, err := c.finishRecords(group, mark); err != nil {
		c.journalErr.Store(&JournalError{Node: c.r.b.name, Op: op, Err: err})
		c.r.stop(c.journalErr.Load())
	}
}

func (c *committer[S, In, Out]) finishRecords(group []task[In, Out], mark string) (op string, err error) {
	defer caught(&err)
	records := make([]journal.Record, 0, len(group))
	at := make(map[journal.Key]*task[In, Out], len(group))
	for i := range group {
		t := &group[i]
		if t.recorded {
			continue
		}
		rec := t.record()
		if t.res.State == Done {
			if rec.Value, err = json.Marshal(t.res.Out); err != nil {
				return "encode", fmt.Errorf("item %d: %w", t.res.Index, err)
			}
		}
		records = append(records, rec)
		at[t.key] = t
	}
	if len(records) == 0 && mark == "" {
		return "", nil
	}
	refused, err := c.r.resume.journal.Finish(c.ctx, c.r.resume.part, mark, records...)
	if err != nil {
		return "finish", err
	}
	for _, known := range refused {
		if t := at[known.Key]; t != nil {
			if err := t.take(known); err != nil {
				return "finish", err
			}
		}
	}
	for _, t := range at {
		t.recorded = true
	}
	return "", nil
}

// take has t end as somebody else recorded it first.
func (t *task[In, Out]) take(known journal.Record) error {
	switch known.State {
	case journal.Done:
		var out Out
		if err := json.Unmarshal(known.Value, &out); err != nil {
			return err
		}
		t.res.Out, t.res.State, t.res.Err = out, Resumed, nil
		return nil
	case journal.Failed:
		return nil
	default:
		return fmt.Errorf("the record of %q is gone: was the run forgotten while it went on?", known.Key.Content)
	}
}

// complete is for the end of the run: an output that has everything again gets its mark.
func (c *committer[S, In, Out]) complete() {
	if c.rewrite && c.resumer != nil && c.failure() == nil && c.r.src.exhausted() && c.r.pending.Load() == 0 {
		c.record(nil, c.output(nil))
	}
}

// failure is what stopped the run, if that was the journal or the sink.
func (c *committer[S, In, Out]) failure() error {
	if err := c.journalErr.Load(); err != nil {
		return err
	}
	if err := c.sinkErr.Load(); err != nil {
		return err
	}
	return nil
}
