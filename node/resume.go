package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/occurrence"
	"github.com/headrace/headrace/journal"
)

// resume is what a run has of the runs before it.
type resume[In any] struct {
	journal  journal.Journal
	part     journal.Part
	progress journal.Progress // when the run began
	opened   time.Time
	retry    bool
	key      func(In) string
	counter  *occurrence.Counter // nil: Dedup
	matched  atomic.Int64        // records of earlier runs that an item was found for

	mu    sync.Mutex                    // guards calls
	calls map[journal.Key]chan struct{} // only for Dedup: closed when what the item came to is recorded
}

// openJournal looks where the runs before this one have come to; nil without a journal.
func (b *Batch[S, In, Out]) openJournal(ctx context.Context) (*resume[In], error) {
	if b.journal == nil {
		return nil, nil
	}
	r := &resume[In]{
		journal: b.journal, opened: time.Now().Truncate(time.Microsecond), retry: b.retryFailed, key: b.key,
		part: journal.Part{Run: journal.RunFrom(ctx), Node: occurrence.Path(ctx, b.name)},
	}
	var err error
	if r.progress, err = b.journal.Open(ctx, r.part, b.version, r.opened); err != nil {
		return nil, &JournalError{Node: b.name, Op: "open", Err: err}
	}
	if b.dedup {
		r.calls = map[journal.Key]chan struct{}{}
		return r, nil
	}
	r.counter, err = occurrence.Open(ctx, r.part.Run+"\x00"+r.part.Node)
	if err != nil {
		return nil, &JournalError{Node: b.name, Op: "open", Err: fmt.Errorf("run %q: %w: items of both would be "+
			"taken for each other; give the batch around it a journal too, or each its own run", r.part.Run, err)}
	}
	return r, nil
}

func (r *resume[In]) close() {
	if r != nil && r.counter != nil {
		r.counter.Close()
	}
}

// leftover is how many records of earlier runs no item was found for.
func (r *run[S, In, Out]) leftover() int64 {
	if r.resume == nil || !r.src.exhausted() {
		return 0
	}
	return max(0, r.resume.progress.Total()-r.resume.matched.Load())
}

// name gives it the key by which it is known. It is called in the order of the input.
func (r *resume[In]) name(it item[In]) item[In] {
	if it.err == nil {
		it.key, it.err = r.keyOf(it.in)
	}
	return it
}

func (r *resume[In]) keyOf(in In) (k journal.Key, err error) {
	defer caught(&err)
	k.Part = r.part
	if r.key != nil {
		k.Content = r.key(in)
	} else {
		text, err := json.Marshal(in)
		if err != nil {
			return k, fmt.Errorf("the item has no JSON to know it by: use WithKey: %w", err)
		}
		k.Content = shortOf(text)
	}
	if r.counter != nil {
		k.Occurrence = r.counter.Next(k.Content)
	}
	return k, nil
}

// recall finds out what t has come to before; done says that this is the end
// of it, with err as its outcome.
func (r *run[S, In, Out]) recall(t *task[In, Out]) (done bool, err error) {
	if err := r.resume.alone(r.ctx, t.key); err != nil {
		return true, err
	}
	was, err := r.resume.journal.Begin(r.ctx, t.key, time.Now(), r.resume.retry)
	if err != nil {
		return true, r.journalFailed("begin", err)
	}
	t.earlier = was.Attempts
	if was.State != journal.Unknown && was.Begun.Before(r.resume.opened) {
		r.resume.matched.Add(1)
	}
	switch {
	case was.State == journal.Done:
		if err := json.Unmarshal(was.Value, &t.res.Out); err != nil {
			return true, r.journalFailed("decode", fmt.Errorf("what is recorded of %q is no %T: "+
				"give WithVersion when the type changes: %w", t.key.Content, t.res.Out, err))
		}
		t.res.Attempts, t.recorded = was.Attempts, true
		return true, nil
	case was.State == journal.Failed && !r.resume.retry:
		t.res.Attempts, t.recorded = was.Attempts, true
		return true, &RecordedError{Text: was.Err, Attempts: was.Attempts}
	default:
		return false, nil
	}
}

// journalFailed stops the run. Its items are pending.
func (r *run[S, In, Out]) journalFailed(op string, err error) error {
	if r.ctx.Err() != nil && errors.Is(err, r.ctx.Err()) {
		return context.Cause(r.ctx)
	}
	failed := &JournalError{Node: r.b.name, Op: op, Err: err}
	r.stop(failed)
	return failed
}

// alone waits, for Dedup, until nobody else works on an item of this content.
func (r *resume[In]) alone(ctx context.Context, k journal.Key) error {
	if r.calls == nil {
		return nil
	}
	for {
		r.mu.Lock()
		busy, ok := r.calls[k]
		if !ok {
			r.calls[k] = make(chan struct{})
		}
		r.mu.Unlock()
		if !ok {
			return nil
		}
		if err := waitFor(ctx, busy); err != nil {
			return err
		}
	}
}

// waitFor waits until over is closed, or nothing new may begin under ctx.
func waitFor(ctx context.Context, over <-chan struct{}) error {
	intake, _ := adaptive.Intake(ctx)
	select {
	case <-over:
		return nil
	case <-ctx.Done():
	case <-intake.Done():
	}
	return ended(ctx)
}

// settled lets those go on that wait for k.
func (r *resume[In]) settled(k journal.Key) {
	if r.calls == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if busy, ok := r.calls[k]; ok {
		close(busy)
		delete(r.calls, k)
	}
}

// inside is the context of t. What is recorded of a batch that runs inside the
// item belongs to this item, and to no other.
func (r *run[S, In, Out]) inside(t *task[In, Out]) context.Context {
	if r.resume == nil {
		return r.ctx
	}
	content := t.key.Content
	if len(content) > 2*len(short{}) { // parts have names of bounded length
		content = shortOf([]byte(content))
	}
	return occurrence.Inside(r.ctx, fmt.Sprintf("%s[%s#%d]", t.key.Node, content, t.key.Occurrence))
}

// short is enough of a SHA-256 that by accident no two are the same.
type short [16]byte

func shortOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:len(short{})])
}

// record is what t has come to, for the journal, but for its value.
func (t *task[In, Out]) record() journal.Record {
	rec := journal.Record{Key: t.key, State: journal.Done, Attempts: t.earlier + t.res.Attempts, Ended: time.Now()}
	if t.res.State == Failed {
		rec.State, rec.Err = journal.Failed, errorText(t.res.Err)
	}
	return rec
}
