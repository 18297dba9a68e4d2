package node

import (
	"context"
	"errors"

	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/journal"
)

// Marks of the journal that are no position in the output.
const (
	// rewriting: the output is behind the records.
	rewriting = "!"
	// taken: a sink without positions has taken all that is recorded.
	taken = "+"
)

// output is what the committer knows of the sink.
type output[In, Out any] struct {
	sink    Sink[In, Out]          // nil: there is none
	resumer ResumableSink[In, Out] // sink, if it is one
	aside   bool                   // an earlier run had a sink and this one has none
	rewrite bool                   // the output is behind the records, and resumed results are for it too
	release func()                 // lets another run of the batch have the sink; may be nil
}

func (o *output[In, Out]) close() {
	if o.release != nil {
		o.release()
	}
}

var (
	errTwoRuns = errors.New("another run of the batch is writing to it: one after the other, or give each a batch and a sink of its own")
	errInner   = errors.New("the batch runs inside the items of another, and each of them would begin the output anew: " +
		"give the sink to the batch around it, or use SinkFunc")
	errNoBegin = errors.New("it cannot begin anew")
)

// prepare has the output go on where the records end. If it cannot, it begins
// anew and gets everything, and the mark says so before anything is lost.
func (c *committer[S, In, Out]) prepare(ctx context.Context) error {
	o, b := &c.out, c.r.b
	var progress journal.Progress
	if c.r.resume != nil {
		progress = c.r.resume.progress
	}
	if b.sink == nil {
		o.aside = progress.Mark != ""
		return nil
	}
	o.sink = b.sink
	o.resumer, _ = b.sink.(ResumableSink[In, Out])
	recorded := progress.Done+progress.Failed > 0
	if o.resumer == nil {
		o.rewrite = recorded && progress.Mark != taken
		return c.markRewriting(ctx, progress.Mark)
	}
	if c.r.resume != nil && c.r.resume.part.Node != b.name {
		return &SinkError{Node: b.name, Err: errInner}
	}
	if !b.writing.CompareAndSwap(false, true) {
		return &SinkError{Node: b.name, Err: errTwoRuns}
	}
	o.release = func() { b.writing.Store(false) }

	mark := progress.Mark
	o.rewrite = mark == rewriting || mark == "" && recorded
	if o.rewrite {
		mark = c.r.resume.known.Output() // of an earlier round of a loop, or ""
	}
	ok, err := c.goOn(ctx, mark)
	if err != nil {
		return &SinkError{Node: b.name, Err: err}
	}
	if !ok {
		o.rewrite = c.r.resume != nil
	}
	if err := c.markRewriting(ctx, progress.Mark); err != nil || ok {
		return err
	}
	if ok, err = c.goOn(ctx, ""); err == nil && !ok {
		err = errNoBegin
	}
	if err != nil {
		return &SinkError{Node: b.name, Err: err}
	}
	return nil
}

func (c *committer[S, In, Out]) goOn(ctx context.Context, mark string) (ok bool, err error) {
	defer panics.Catch(&err)
	return c.out.resumer.Resume(ctx, mark)
}

func (c *committer[S, In, Out]) markRewriting(ctx context.Context, mark string) error {
	if !c.out.rewrite || mark == rewriting {
		return nil
	}
	if _, err := c.finishRecords(ctx, rewriting); err != nil {
		return &JournalError{Node: c.r.b.name, Op: "finish", Err: err}
	}
	return nil
}

// write gives group to the sink, unless that or the journal has failed, and
// returns the mark for its records.
func (c *committer[S, In, Out]) write(group []task[In, Out]) (mark string) {
	switch {
	case c.out.sink == nil && c.out.aside:
		return rewriting
	case c.out.sink == nil || c.journalErr.Load() != nil:
		return ""
	case c.sinkErr.Load() != nil:
		return rewriting
	}
	mark, err := c.take(group)
	if err != nil {
		c.sinkFailed(err)
		if c.r.resume != nil {
			c.r.resume.known.SetOutput("")
		}
		return rewriting
	}
	if c.out.rewrite {
		c.r.resume.known.SetOutput(mark)
		return rewriting
	}
	return mark
}

// take has the sink take group, and returns where its output ends now.
func (c *committer[S, In, Out]) take(group []task[In, Out]) (mark string, err error) {
	results := make([]Result[In, Out], len(group))
	for i := range group {
		results[i] = group[i].res
	}
	err = c.call(inSink, func() error {
		if len(results) > 0 {
			if c.out.resumer == nil {
				if !enter(c.ctx, c.r.b.sinking) {
					return context.Cause(c.ctx)
				}
				defer func() { <-c.r.b.sinking }()
			}
			if err := c.out.sink.Write(c.ctx, results); err != nil {
				return err
			}
		}
		if mark = taken; c.out.resumer == nil {
			return nil
		}
		var err error
		mark, err = c.out.resumer.Sync(c.ctx)
		return err
	})
	return mark, err
}

// complete gives an output that has everything again its mark. Records that no
// item was found for, as those of a loop's rounds to come, are not in it.
func (c *committer[S, In, Out]) complete() {
	if !c.out.rewrite || !c.settled || c.failure() != nil || !c.r.src.exhausted() || c.r.intake.Err() != nil ||
		c.r.pending.Load() > 0 || c.r.resume.known.Left() > 0 {
		return
	}
	mark, err := c.take(nil)
	if err != nil {
		c.sinkFailed(err)
		return
	}
	if _, err := c.finishRecords(c.ctx, mark); err != nil {
		c.journalFailed("finish", err)
	}
}
