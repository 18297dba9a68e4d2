package flowtest

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/journal"
)

// ErrKilled is the cause of the context of a Process that was killed, and what
// its journal answers from then on.
var ErrKilled = errors.New("flowtest: the process was killed")

// Process is one life of a program with a journal, to be killed at a moment of
// your choice. What is in flight then comes to nothing: it was sent, perhaps
// answered, and is not recorded. Go on with another Process on the same journal.
// Files, such as those of a sink, are not part of it.
type Process struct {
	ctx    context.Context //nolint:containedctx // handed over as that of a test is
	cancel context.CancelCauseFunc
	dead   atomic.Bool
	of     journal.Journal
}

// NewProcess returns a Process that works with j. Its context is that of the Record.
func (r *Record) NewProcess(j journal.Journal) *Process {
	p := &Process{of: j}
	p.ctx, p.cancel = context.WithCancelCause(r.ctx)
	return p
}

// Context returns the context to run under. Kill ends it.
func (p *Process) Context() context.Context { return p.ctx }

// Journal returns the process's way to the journal, for WithJournal. From Kill on
// nothing reaches the journal.
func (p *Process) Journal() journal.Journal { return mortal{p} }

// Kill ends the process. It is safe for concurrent use, also in a Step.Do.
func (p *Process) Kill() {
	p.dead.Store(true)
	p.cancel(ErrKilled)
}

func (p *Process) alive() error {
	if p.dead.Load() {
		return ErrKilled
	}
	return nil
}

// mortal is the journal as a process sees it.
type mortal struct{ *Process }

func (m mortal) Open(ctx context.Context, p journal.Part, version string, at time.Time) (journal.Progress, error) {
	if err := m.alive(); err != nil {
		return journal.Progress{}, err
	}
	return m.of.Open(ctx, p, version, at)
}

func (m mortal) Begin(ctx context.Context, k journal.Key, at time.Time, retry bool) (journal.Record, error) {
	if err := m.alive(); err != nil {
		return journal.Record{}, err
	}
	return m.of.Begin(ctx, k, at, retry)
}

func (m mortal) Finish(
	ctx context.Context, p journal.Part, mark string, records ...journal.Record,
) (refused []journal.Record, err error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.of.Finish(ctx, p, mark, records...)
}

func (m mortal) All(ctx context.Context, p journal.Part) iter.Seq2[journal.Record, error] {
	if err := m.alive(); err != nil {
		return func(yield func(journal.Record, error) bool) { yield(journal.Record{}, err) }
	}
	return m.of.All(ctx, p)
}

// Close leaves the journal open for the next process.
func (m mortal) Close() error { return nil }

// SaveLaw implements journal.LawKeeper; a journal that is none keeps nothing.
func (m mortal) SaveLaw(ctx context.Context, limiter string, saved journal.Law) error {
	if err := m.alive(); err != nil {
		return err
	}
	if keeper, ok := m.of.(journal.LawKeeper); ok {
		return keeper.SaveLaw(ctx, limiter, saved)
	}
	return nil
}

// LoadLaw implements journal.LawKeeper.
func (m mortal) LoadLaw(ctx context.Context, limiter string) (journal.Law, error) {
	if err := m.alive(); err != nil {
		return journal.Law{}, err
	}
	if keeper, ok := m.of.(journal.LawKeeper); ok {
		return keeper.LoadLaw(ctx, limiter)
	}
	return journal.Law{}, nil
}
