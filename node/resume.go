package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/occurrence"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/journal"
)

// resume is what a run has of the runs before it.
type resume[In any] struct {
	journal  journal.Journal
	name     string // the batch's
	part     journal.Part
	owner    journal.Owner
	claim    *occurrence.Claim
	progress journal.Progress    // when the run began; Mark is that of the sink, and lacking counts as Behind
	mark     string              // as the journal has it
	lacking  []occurrence.Record // that the output was completed without
	opened   time.Time
	retry    bool
	rewrites bool // the output gets everything that is recorded
	key      func(In) string
	shape    *shape // of In
	known    *occurrence.Part
	turns    *occurrence.Turns // nil unless Dedup
	unbeat   func()            // ends renewing the claim; nil before that began
	stale    stale
	dropped  atomic.Int64 // records that the output lacked, and that are tried again
	left     int64        // records that no item was found for, once the run is over
}

// openJournal claims the batch's part of the run, and looks how far the runs before this one
// have come; nil without a journal.
func (b *Batch[S, In, Out]) openJournal(ctx context.Context) (*resume[In], error) {
	if b.journal == nil {
		return nil, nil
	}
	claims := occurrence.ClaimsOf(ctx)
	r := &resume[In]{
		journal: b.journal, name: b.name, opened: time.Now(), retry: b.retryFailed, key: b.key, shape: b.items,
		part:  journal.Part{Run: journal.RunFrom(ctx), Node: occurrence.Path(ctx, b.name)},
		owner: journal.NewOwner(),
	}
	r.owner.ID = claims.ID
	var err error
	if r.claim, err = claims.Take(ctx, r.claimKey(), func() error { return r.open(ctx, b.version) }); err != nil {
		return nil, &JournalError{Node: b.name, Op: "open", Err: err}
	}
	if r.known, err = occurrence.Open(ctx, occurrence.Request{
		Name: occurrence.Name(r.part), Earlier: r.progress.Pending + r.progress.Done + r.progress.Failed, Of: b.code(), Shared: b.dedup, Claims: claims,
	}); err != nil {
		r.release() //nolint:contextcheck // also if ctx has ended
		if errors.As(err, new(*occurrence.BusyError)) {
			err = fmt.Errorf("%w: items of both would be taken for each other; give the batch around it a journal too, or each its own run", err)
		}
		return nil, &JournalError{Node: b.name, Op: "open", Err: err}
	}
	if b.dedup {
		r.turns = r.known.Turns()
	}
	return r, nil
}

func (r *resume[In]) open(ctx context.Context, version string) (err error) {
	defer panics.Catch(&err)
	r.progress, err = r.journal.Open(ctx, r.part, r.owner, version, r.opened)
	r.mark = r.progress.Mark
	r.progress.Mark, r.lacking = occurrence.CutLacking(r.mark)
	r.progress.Behind += int64(len(r.lacking))
	return err
}

// behind reports whether the output may lack what the journal has of e.
func (r *resume[In]) behind(e *entry, was *journal.Record) bool {
	if r.progress.Behind == 0 || !e.first { // this run has recorded it
		return false
	}
	return was.Behind || len(r.lacking) > 0 && slices.Contains(r.lacking, occurrence.Record{Content: occurrence.Of(e.content), Occurrence: e.occurrence})
}

// close ends the run's part in the journal. whole means that every item of the input was looked up: o then learns at the end of
// the scope what is left.
func (r *resume[In]) close(o event.Observer, whole bool) {
	if r == nil {
		return
	}
	if r.turns != nil {
		r.turns.Close()
	}
	var last func()
	if whole {
		if r.left = r.known.Left(); r.left > 0 {
			last = func() { r.tellLeft(o) }
		}
	}
	r.known.Close(last)
	r.tellStale(o)
	r.release()
}

func (r *resume[In]) tellLeft(o event.Observer) {
	if n := r.known.Left(); n > 0 {
		e := event.New(time.Now(), event.JournalLeftover, r.name)
		e.To = float64(n)
		e.Reason = fmt.Sprintf("the journal has %d records of run %q, node %q, that match no item: "+
			"the input has changed, or what WithKey returns", n, r.part.Run, r.part.Node)
		emit.Send(o, e)
	}
}

// identify makes the entry by which it is known. It is called in the order of the input.
func (r *resume[In]) identify(it *item[In]) {
	if it.err != nil {
		return
	}
	e, err := r.entryOf(it.in)
	if it.err = err; err == nil {
		it.entry = e
	}
}

func (r *resume[In]) entryOf(in In) (e *entry, err error) {
	defer panics.Catch(&err)
	e = &entry{first: true}
	if r.key == nil {
		text, err := r.shape.encodeKey(&in)
		if err != nil {
			return nil, fmt.Errorf("the item has no JSON to know it by: use WithKey: %w", err)
		}
		e.content = occurrence.Of(string(text)).String()
	} else if e.content = r.key(in); e.content == "" {
		return nil, errNoKey
	}
	if r.keyOf(e).Validate() != nil { // it is too long, or no text
		e.content = occurrence.Of(e.content).String()
	}
	if r.turns == nil {
		e.occurrence = r.known.Next(e.content)
	}
	return e, nil
}

var errNoKey = errors.New("WithKey has no key for the item, and a journal needs one")

// keyOf is the key of e.
func (r *resume[In]) keyOf(e *entry) journal.Key {
	return journal.Key{Part: r.part, Content: e.content, Occurrence: e.occurrence}
}

// inside is the context of an attempt at t. What is recorded of a batch that
// runs inside belongs to this item, and to no other.
func (r *resume[In]) inside(ctx context.Context, e *entry) (inner context.Context, end func()) {
	if r == nil || e == nil {
		return ctx, func() {}
	}
	return r.known.Inside(ctx, e.content, e.occurrence)
}
