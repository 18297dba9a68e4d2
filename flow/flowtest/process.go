package flowtest

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/headrace/headrace/journal"
)

// ErrKilled is the cause of the context of a killed Process, and the error of its journal.
var ErrKilled = errors.New("flowtest: the process was killed")

// Process simulates a process with a journal that can be killed at any moment.
// Calls in flight are then not recorded. Continue with another Process on the
// same journal.
type Process struct {
	ctx    context.Context //nolint:containedctx // handed over as that of a test is
	cancel context.CancelCauseFunc
	of     journal.Journal

	mu     sync.Mutex // guards everything below
	dead   bool
	claims map[journal.Part]journal.Owner
}

// NewProcess returns a Process that works with j.
func (r *Record) NewProcess(j journal.Journal) *Process {
	p := &Process{of: j, claims: map[journal.Part]journal.Owner{}}
	p.ctx, p.cancel = context.WithCancelCause(r.ctx)
	return p
}

// Context returns the context to run under. Kill ends it.
func (p *Process) Context() context.Context { return p.ctx }

// Journal returns the journal for WithJournal. After Kill nothing reaches the underlying one.
func (p *Process) Journal() journal.Journal { return mortal{p} }

// Kill ends the process and its claims to the journal. It is safe for concurrent use, also in a
// Step.Do.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	p.cancel(ErrKilled)
	for part, owner := range p.claims {
		_ = p.of.Release(context.WithoutCancel(p.ctx), part, owner) // what cannot be released lapses
	}
	clear(p.claims)
}

func (p *Process) alive() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.aliveLocked()
}

func (p *Process) aliveLocked() error {
	if p.dead {
		return ErrKilled
	}
	return nil
}

// since returns what a call of the journal failed with: one that Kill has overtaken failed because of that.
func (p *Process) since(err error) error {
	if err != nil {
		if killed := p.alive(); killed != nil {
			return killed
		}
	}
	return err
}

// mortal is the journal as a process sees it.
type mortal struct{ *Process }

func (m mortal) Open(ctx context.Context, p journal.Part, owner journal.Owner, version string, at time.Time) (journal.Progress, error) {
	m.mu.Lock() // so that Kill knows of the claim
	defer m.mu.Unlock()
	if err := m.aliveLocked(); err != nil {
		return journal.Progress{}, err
	}
	progress, err := m.of.Open(ctx, p, owner, version, at)
	if err == nil {
		m.claims[p] = owner
	}
	return progress, err
}

func (m mortal) Renew(ctx context.Context, p journal.Part, owner journal.Owner, at time.Time) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.since(m.of.Renew(ctx, p, owner, at))
}

func (m mortal) Release(ctx context.Context, p journal.Part, owner journal.Owner) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.aliveLocked(); err != nil {
		return err
	}
	delete(m.claims, p)
	return m.of.Release(ctx, p, owner)
}

func (m mortal) Begin(ctx context.Context, k journal.Key, at time.Time, retry bool) (journal.Record, error) {
	if err := m.alive(); err != nil {
		return journal.Record{}, err
	}
	record, err := m.of.Begin(ctx, k, at, retry)
	return record, m.since(err)
}

func (m mortal) Finish(
	ctx context.Context, p journal.Part, owner journal.Owner, mark string, records ...journal.Record,
) (refused []journal.Record, err error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	refused, err = m.of.Finish(ctx, p, owner, mark, records...)
	return refused, m.since(err)
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
