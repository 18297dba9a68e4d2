package node

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/journal"
)

const (
	// commitMost is how many results are made durable together. They are those that
	// came while the group before was being written: no result waits for more to come.
	commitMost = 256
	// commitPatience is how long a run that is over waits for its last results to be durable.
	commitPatience = 10 * time.Second
)

// errSlow is why items are pending that had a result when the run ended.
var errSlow = fmt.Errorf("it has not returned within %v of the end of the run", commitPatience)

// committer makes results durable and hands them on after that, in groups: the
// records to the journal, what is recorded to the sink, and that to the outlet.
type committer[S, In, Out any] struct {
	r      *run[S, In, Out]
	out    output[In, Out]
	queue  chan task[In, Out]
	ctx    context.Context //nolint:containedctx // for as long as the run, and then for commitPatience
	cancel context.CancelFunc

	ending  sync.Once
	over    chan struct{} // closed when nothing more is put
	done    chan struct{} // closed when all is committed
	settled bool          // every item has been put that is to be; read once over is closed

	group []task[In, Out] // that is being committed; only for the committer's goroutine
	given bool            // the sink has it
	buf   []task[In, Out] // under group
	saved time.Time       // when the controller was saved last
	cold  bool            // saving it has failed

	in         atomic.Int32                 // which code is running
	journalErr atomic.Pointer[JournalError] // what ended recording
	sinkErr    atomic.Pointer[SinkError]    // what ended writing
}

// The code that is running in the committer.
const (
	inNone int32 = iota
	inSink
	inJournal
	inLaw
)

// commits returns what makes the results of r durable; nil without a journal and a sink.
func (r *run[S, In, Out]) commits(ctx context.Context) (*committer[S, In, Out], error) {
	if r.b.journal == nil && r.b.sink == nil {
		return nil, nil
	}
	c := &committer[S, In, Out]{
		r: r, queue: make(chan task[In, Out], 2*commitMost), buf: make([]task[In, Out], 0, commitMost),
		over: make(chan struct{}), done: make(chan struct{}), saved: time.Now(),
	}
	prepared := false
	defer func() { // also if the sink calls runtime.Goexit
		if !prepared {
			c.out.close()
		}
	}()
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	prepared = true
	if r.resume != nil {
		r.resume.rewrites = c.out.rewrite
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx)) //nolint:gosec // wait calls it
	return c, nil
}

// wants reports whether t is to be committed. A failure that the provider has
// not worked on is not: the next run tries the item again.
func (c *committer[S, In, Out]) wants(t *task[In, Out]) bool {
	switch t.res.State {
	case Done:
		return true
	case Resumed:
		return c.out.wants(t.entry)
	case Failed:
		switch e := t.entry; {
		case c.r.resume == nil:
			return true
		case e == nil:
			return false
		case e.recorded:
			return c.out.wants(e)
		default:
			return e.sent
		}
	default:
		return false
	}
}

// put hands t over; false if the committer has ended.
func (c *committer[S, In, Out]) put(t *task[In, Out]) bool {
	select {
	case c.queue <- *t:
		return true
	case <-c.done:
	case <-c.ctx.Done():
	}
	return false
}

// run commits until nothing more is put. It goes on in another goroutine if
// user code ends this one.
func (c *committer[S, In, Out]) run() {
	returned := false
	defer func() {
		if returned {
			c.out.close()
			close(c.done)
			c.r.end()
			return
		}
		c.exited()
		go c.run()
	}()
	c.commit() // what the one before has left
	for open := true; open; c.commit() {
		select {
		case t := <-c.queue:
			c.gather(t)
		case <-c.over:
			open = c.gather()
		}
	}
	c.complete()
	c.saveLaw()
	returned = true
}

// exited notes that user code has called runtime.Goexit.
func (c *committer[S, In, Out]) exited() {
	switch c.in.Swap(inNone) {
	case inSink:
		c.sinkFailed(errGoexit)
	case inJournal:
		c.journalFailed("finish", errGoexit)
	case inLaw:
		c.cold = true
	}
}

// call runs user code. If that calls runtime.Goexit, in is left as it is for exited.
func (c *committer[S, In, Out]) call(whose int32, f func() error) error {
	c.in.Store(whose)
	err := func() (err error) {
		defer panics.Catch(&err)
		return f()
	}()
	c.in.Store(inNone)
	return err
}

// gather groups first with everything else that is ready. It returns false if the group is empty.
func (c *committer[S, In, Out]) gather(first ...task[In, Out]) bool {
	clear(c.buf[:cap(c.buf)])
	c.given = false
	c.group = c.buf[:copy(c.buf[:len(first)], first)]
	for len(c.group) < commitMost {
		select {
		case t := <-c.queue:
			c.group = append(c.group, t)
		default:
			return len(c.group) > 0
		}
	}
	return true
}

// finish is for when nothing more will be put; settled says that no item is under way.
func (c *committer[S, In, Out]) finish(settled bool) {
	c.ending.Do(func() {
		c.settled = settled
		close(c.over)
	})
}

// wait waits, but not for ever, until everything is committed. What hangs in the
// sink or the journal is left behind.
func (c *committer[S, In, Out]) wait() {
	c.finish(false)
	patience := time.NewTimer(commitPatience)
	defer patience.Stop()
	select {
	case <-c.done:
	case <-patience.C:
		if c.in.Load() == inSink {
			c.sinkFailed(errSlow)
		} else {
			c.journalFailed("finish", errSlow)
		}
	}
	c.cancel()
}

// commit makes the group durable and hands it on. Without its record, or without a
// journal its line, an item is pending.
func (c *committer[S, In, Out]) commit() {
	if len(c.group) == 0 {
		return
	}
	if !c.given { // else user code that it was handed on to has ended the goroutine
		c.record(c.group)
		c.write(c.group)
		c.given = true
	}
	for len(c.group) > 0 {
		t := &c.group[0]
		c.group = c.group[1:]
		if !c.kept(t) {
			c.r.lose(t, c.failure())
		}
		c.r.settle(t)
	}
	if time.Since(c.saved) >= saveEvery {
		c.saveLaw()
	}
}

func (c *committer[S, In, Out]) kept(t *task[In, Out]) bool {
	if c.r.resume == nil {
		return c.sinkErr.Load() == nil
	}
	return t.entry.recorded
}

// record records the outcomes of group in the journal, unless the journal has failed.
func (c *committer[S, In, Out]) record(group []task[In, Out]) {
	if c.r.resume == nil || c.journalErr.Load() != nil {
		return
	}
	records := make([]journal.Record, 0, len(group))
	for i := range group {
		if t := &group[i]; !t.entry.recorded {
			records = append(records, c.r.resume.record(t.entry, t.res.State, t.res.Err, t.res.Attempts))
		}
	}
	if len(records) == 0 {
		return
	}
	mark := c.nextMark()
	refused, err := c.finishRecords(c.ctx, mark, records...)
	if err == nil {
		c.out.unmarked = true
		c.noteMarked(mark)
		err = c.takeAll(group, refused)
	}
	if err != nil {
		c.journalFailed("finish", err)
	}
}

func (c *committer[S, In, Out]) finishRecords(ctx context.Context, mark string, records ...journal.Record) (refused []journal.Record, err error) {
	err = c.call(inJournal, func() (err error) {
		refused, err = c.r.resume.journal.Finish(ctx, c.r.resume.part, c.r.resume.owner, mark, records...)
		return err
	})
	return refused, err
}

// takeAll has the group end as it is recorded now.
func (c *committer[S, In, Out]) takeAll(group []task[In, Out], refused []journal.Record) error {
	for _, known := range refused {
		for i := range group {
			t := &group[i]
			if t.entry.recorded || c.r.resume.keyOf(t.entry) != known.Key {
				continue
			}
			if err := t.take(known); err != nil {
				return err
			}
			t.entry.recorded = true
		}
	}
	for i := range group {
		group[i].entry.recorded = true
	}
	return nil
}

func (c *committer[S, In, Out]) journalFailed(op string, err error) {
	if c.journalErr.CompareAndSwap(nil, &JournalError{Node: c.r.b.name, Op: op, Err: err}) {
		c.r.resume.known.Break()
		c.r.stop(c.journalErr.Load())
	}
}

func (c *committer[S, In, Out]) sinkFailed(err error) {
	if c.sinkErr.CompareAndSwap(nil, &SinkError{Node: c.r.b.name, Err: err}) {
		if c.r.resume != nil {
			c.r.resume.known.Break()
		}
		c.r.stop(c.sinkErr.Load())
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
