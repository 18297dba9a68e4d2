package node

import (
	"context"
	"errors"

	"github.com/headrace/headrace/internal/occurrence"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/journal"
)

// Marks of the journal that are no position in the output.
const (
	// rewriting: what was written before is not to be continued.
	rewriting = "!"
	// taken: a sink without positions has taken all that was recorded before.
	taken = "+"
)

// output is what the committer knows of the sink. Results are written after they
// are recorded, and the mark of that goes with the next records. So a run that
// continues has to write again what was recorded behind the mark.
type output[In, Out any] struct {
	sink     Sink[In, Out]          // may be nil
	resumer  ResumableSink[In, Out] // sink, if it is one
	rewrite  bool                   // the output began anew, and gets everything that is recorded
	lacks    int64                  // records behind the mark that it has not got yet
	mark     string                 // where it ends
	marked   string                 // the mark that the journal has
	unmarked bool                   // there are records behind that
	release  func()                 // lets another run of the batch have the sink; may be nil
}

func (o *output[In, Out]) close() {
	if o.release != nil {
		o.release()
	}
}

// behind reports whether the output lacks records from before, so that the
// journal cannot have its mark.
func (o *output[In, Out]) behind() bool { return o.rewrite || o.lacks > 0 }

// wants reports whether the output lacks what an earlier run has recorded of e.
func (o *output[In, Out]) wants(e *entry) bool {
	return o.sink != nil && (o.rewrite && e.first || e.behind)
}

var (
	errTwoRuns    = errors.New("another run of the batch is writing to it: run them one after the other, or give each its own batch and sink")
	errTwoBatches = errors.New("another batch writes to it: give each batch a file of its own")
	errInner      = errors.New("the batch runs inside the items of another, and each of them would start the output over: " +
		"give the sink to the batch around it, or use SinkFunc")
	errNoBegin = errors.New("it cannot begin anew")
	errChanged = errors.New("the output of the previous run is gone, and without a journal it cannot be written again")
)

// prepare has the output continue where its mark is. If it cannot, it begins
// anew and gets everything, and the mark says so before anything is lost.
func (c *committer[S, In, Out]) prepare(ctx context.Context) error {
	o, b := &c.out, c.r.b
	if b.sink == nil {
		return nil
	}
	o.sink = b.sink
	o.resumer, _ = b.sink.(ResumableSink[In, Out])
	if c.r.resume != nil && o.resumer == nil {
		return c.prepareFunc(ctx)
	}
	if o.resumer == nil {
		return nil
	}
	if c.r.resume != nil && c.r.resume.part.Node != b.name {
		return &SinkError{Node: b.name, Err: errInner}
	}
	if err := c.hold(); err != nil {
		return &SinkError{Node: b.name, Err: err}
	}
	if c.r.resume == nil {
		return c.prepareAlone(ctx)
	}
	return c.prepareResumer(ctx)
}

// owned is a sink that only one batch writes: each would cut off the lines of the other behind its own mark.
type owned interface {
	// own takes it for a run of the batch of that name; false if it is another one's, or in use.
	own(name string) bool
	// disown is called at the end of that run.
	disown()
}

// hold keeps other runs from the sink until release.
func (c *committer[S, In, Out]) hold() error {
	b := c.r.b
	if !b.writing.CompareAndSwap(false, true) {
		return errTwoRuns
	}
	c.out.release = func() { b.writing.Store(false) }
	if sink, is := b.sink.(owned); is {
		if !sink.own(b.name) {
			return errTwoBatches
		}
		c.out.release = func() {
			sink.disown()
			b.writing.Store(false)
		}
	}
	return nil
}

// prepareFunc is for a sink that has no positions: the journal knows what it has taken.
func (c *committer[S, In, Out]) prepareFunc(ctx context.Context) error {
	o, progress := &c.out, &c.r.resume.progress
	o.mark, o.marked = taken, c.r.resume.mark
	if o.rewrite = progress.Mark != taken && progress.Done+progress.Failed > 0; o.rewrite {
		return c.markRewriting(ctx)
	}
	if o.lacks = progress.Behind; c.r.resume.known.Output().Mark != "" {
		o.lacks = c.r.resume.known.Output().Lacks
	}
	return nil
}

// prepareAlone is for a run without a journal: it writes behind the runs of the batch before it.
func (c *committer[S, In, Out]) prepareAlone(ctx context.Context) error {
	ok, err := c.resumeAt(ctx, c.r.b.mark())
	if err == nil && !ok {
		err = errChanged
	}
	if err != nil {
		return &SinkError{Node: c.r.b.name, Err: err}
	}
	return nil
}

// prepareResumer is for a sink with positions and a run with a journal.
func (c *committer[S, In, Out]) prepareResumer(ctx context.Context) error {
	o, progress, known := &c.out, &c.r.resume.progress, c.r.resume.known
	o.marked = c.r.resume.mark
	at := known.Output() // of an earlier round of a loop, or nothing
	if at.Mark == "" {
		at = occurrence.Output{Mark: progress.Mark, Lacks: progress.Behind}
	}
	o.lacks = at.Lacks
	o.rewrite = progress.Mark == rewriting || progress.Mark == taken || progress.Mark == "" && progress.Done+progress.Failed > 0
	var ok bool
	var err error
	if at.Mark != rewriting && at.Mark != taken {
		if ok, err = c.resumeAt(ctx, at.Mark); err == nil && !ok && known.Counted() {
			known.Break()
		}
	}
	if err == nil && !ok {
		o.rewrite = true
		if err := c.markRewriting(ctx); err != nil {
			return err
		}
		if ok, err = c.anew(ctx); err == nil && !ok {
			err = errNoBegin
		}
	}
	if err == nil {
		o.mark, err = c.sync(ctx)
	}
	if err != nil {
		return &SinkError{Node: c.r.b.name, Err: err}
	}
	if o.rewrite {
		return c.markRewriting(ctx)
	}
	return nil
}

func (c *committer[S, In, Out]) resumeAt(ctx context.Context, mark string) (ok bool, err error) {
	defer panics.Catch(&err)
	return c.out.resumer.Resume(ctx, mark)
}

// rewriter is a sink that asks whether what it has is in the journal before it begins anew.
type rewriter interface{ mayRewrite() }

func (c *committer[S, In, Out]) anew(ctx context.Context) (ok bool, err error) {
	if r, is := c.out.resumer.(rewriter); is {
		r.mayRewrite()
	}
	return c.resumeAt(ctx, "")
}

func (c *committer[S, In, Out]) sync(ctx context.Context) (mark string, err error) {
	defer panics.Catch(&err)
	return c.out.resumer.Sync(ctx)
}

// markRewriting notes in the journal that the output begins anew.
func (c *committer[S, In, Out]) markRewriting(ctx context.Context) error {
	if c.out.marked == rewriting {
		return nil
	}
	if err := c.giveMark(ctx, rewriting); err != nil {
		return &JournalError{Node: c.r.b.name, Op: "finish", Err: err}
	}
	return nil
}

// giveMark gives the journal a mark alone.
func (c *committer[S, In, Out]) giveMark(ctx context.Context, mark string) error {
	_, err := c.finishRecords(ctx, mark)
	if err == nil {
		c.out.unmarked = false
		c.noteMarked(mark)
	}
	return err
}

// noteMarked notes that the journal has the mark.
func (c *committer[S, In, Out]) noteMarked(mark string) {
	if mark == "" {
		return
	}
	if c.out.marked = mark; mark != rewriting {
		c.r.resume.known.SetOutput(occurrence.Output{}) // the journal knows
	}
}

// nextMark is the mark that goes with the next records: that of the output as it is
// without them, if it has all before them.
func (c *committer[S, In, Out]) nextMark() string {
	switch o := &c.out; {
	case o.sink == nil, o.behind(), c.r.resume.claim.Shared(): // the output of another run may lack what that has recorded
		return ""
	case c.sinkErr.Load() == nil:
		return o.mark
	case o.resumer == nil:
		return rewriting
	default: // what follows its mark is written again
		return ""
	}
}

// write gives the sink what of the group is recorded, unless it or the journal has failed.
func (c *committer[S, In, Out]) write(group []task[In, Out]) {
	if c.out.sink == nil || c.failure() != nil || c.ctx.Err() != nil {
		return
	}
	results, behind := make([]Result[In, Out], 0, len(group)), int64(0)
	for i := range group {
		t := &group[i]
		if t.entry == nil || t.entry.recorded {
			results = append(results, t.res)
		}
		if t.entry != nil && t.entry.behind {
			behind++
		}
	}
	mark, err := c.take(results)
	if err != nil {
		c.sinkFailed(err)
		return
	}
	o := &c.out
	if o.mark = mark; c.r.resume == nil {
		c.r.b.written.Store(&mark)
		return
	}
	if o.behind() {
		o.lacks = max(0, o.lacks-behind-c.r.resume.dropped.Swap(0))
		c.r.resume.known.SetOutput(occurrence.Output{Mark: mark, Lacks: o.lacks})
	}
}

// take has the sink take results, and returns where its output ends now.
func (c *committer[S, In, Out]) take(results []Result[In, Out]) (mark string, err error) {
	err = c.call(inSink, func() error {
		if c.out.resumer == nil {
			if !enter(c.ctx, c.r.b.sinking) {
				return context.Cause(c.ctx)
			}
			defer func() { <-c.r.b.sinking }()
		}
		if err := c.out.sink.Write(c.ctx, results); err != nil {
			return err
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

// complete gives the journal the mark of the whole output. An output that was behind has
// everything if every item was looked for, but for records that no item was found for, such as
// those of a loop's rounds to come. The mark names them.
func (c *committer[S, In, Out]) complete() {
	o, r := &c.out, c.r
	if r.resume == nil || o.sink == nil || c.journalErr.Load() != nil || r.resume.claim.Shared() {
		return
	}
	mark := o.mark
	switch whole := c.settled && r.src.exhausted() && r.intake.Err() == nil && r.pending.Load() == 0; {
	case c.sinkErr.Load() != nil && o.resumer != nil:
		return
	case c.sinkErr.Load() != nil:
		mark = rewriting
	case o.behind() && (!whole || r.resume.known.Broken()):
		return
	case o.behind() && r.resume.known.Left() > 0:
		lacking, ok := c.lacking()
		if !ok {
			return
		}
		mark = occurrence.WithLacking(mark, lacking)
	}
	if mark == o.marked && !o.unmarked {
		return
	}
	if err := c.giveMark(c.ctx, mark); err != nil {
		c.journalFailed("finish", err)
	}
}

// mostLacking bounds the records that a mark names. An output that lacks more is written again by the next run.
const mostLacking = 100

// lacking returns the records that no item was found for, and that are not in the output. It is not ok if these are too
// many, or unknown.
func (c *committer[S, In, Out]) lacking() (lacking []occurrence.Record, ok bool) {
	o, r := &c.out, c.r.resume
	if !o.rewrite {
		for _, one := range r.lacking {
			if !r.known.Met(one) {
				lacking = append(lacking, one)
			}
		}
		return lacking, o.lacks == int64(len(lacking))
	}
	err := c.call(inJournal, func() error {
		for rec, err := range r.journal.All(c.ctx, r.part) {
			if err != nil {
				return err
			}
			one := occurrence.Record{Content: occurrence.Of(rec.Key.Content), Occurrence: rec.Key.Occurrence}
			if rec.State == journal.Pending || r.known.Met(one) {
				continue
			}
			if lacking = append(lacking, one); len(lacking) > mostLacking {
				break
			}
		}
		return nil
	})
	return lacking, err == nil && len(lacking) <= mostLacking
}

// mark is how far the runs without a journal have written.
func (b *Batch[S, In, Out]) mark() string {
	if m := b.written.Load(); m != nil {
		return *m
	}
	return ""
}
