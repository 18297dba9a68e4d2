package journal

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"sync"
	"time"
)

// Memory is a journal in memory, for tests and for runs that follow each other in one process. Claims
// do not lapse, and Close frees the memory.
type Memory interface {
	Journal
	Retainer
	LawKeeper
}

type memory struct {
	mu     sync.Mutex // guards everything below
	closed bool
	parts  map[Part]*part
	laws   map[string]Law
}

type part struct {
	version string
	mark    string
	opened  time.Time // for the first time
	changed time.Time
	lease   Lease
	calls   int64 // of Finish, with records
	marked  int64 // of them, those that mark covers
	records map[item]*kept
}

// kept is a record and the number of the Finish that it came with.
type kept struct {
	Record

	call int64
}

// item is a Key within its part.
type item struct {
	content    string
	occurrence int64
}

// NewMemory returns an empty journal.
func NewMemory() Memory {
	return &memory{parts: map[Part]*part{}, laws: map[string]Law{}}
}

// Open implements Journal.
func (m *memory) Open(ctx context.Context, p Part, owner Owner, version string, at time.Time) (Progress, error) {
	if err := errors.Join(p.Validate(), owner.Validate()); err != nil {
		return Progress{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usableLocked(ctx); err != nil {
		return Progress{}, err
	}
	at = at.Truncate(time.Microsecond)
	known, ok := m.parts[p]
	switch {
	case !ok:
		known = &part{version: version, opened: at, records: map[item]*kept{}}
		m.parts[p] = known
	case known.lease.Excludes(owner, at, 0):
		return Progress{}, known.lease.Refuse(p, 0)
	case known.version != version:
		return Progress{}, &VersionError{Part: p, Recorded: known.version, Wanted: version}
	}
	if known.lease.Owner.ID != owner.ID {
		known.lease.Since = at
	}
	known.lease.Owner, known.lease.Renewed = owner, at
	known.changed = latest(known.changed, at)
	return known.progress(), nil
}

func (p *part) progress() Progress {
	at := Progress{Mark: p.mark}
	for _, r := range p.records {
		switch r.State {
		case Pending:
			at.Pending++
		case Done:
			at.Done++
		case Failed:
			at.Failed++
		case Unknown:
		}
		if r.call > p.marked {
			at.Behind++
		}
	}
	return at
}

// Renew implements Journal.
func (m *memory) Renew(ctx context.Context, p Part, owner Owner, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	of, err := m.heldLocked(ctx, p, owner)
	if err == nil {
		of.lease.Renewed = at.Truncate(time.Microsecond)
	}
	return err
}

// Release implements Journal.
func (m *memory) Release(ctx context.Context, p Part, owner Owner) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usableLocked(ctx); err != nil {
		return err
	}
	if of := m.parts[p]; of != nil && of.lease.Owner.ID == owner.ID {
		of.lease = Lease{}
	}
	return nil
}

// Begin implements Journal.
func (m *memory) Begin(ctx context.Context, k Key, at time.Time, retry bool) (Record, error) {
	if err := k.Validate(); err != nil {
		return Record{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.openLocked(ctx, k.Part)
	if err != nil {
		return Record{}, err
	}
	at = at.Truncate(time.Microsecond)
	name := item{k.Content, k.Occurrence}
	r, ok := p.records[name]
	if !ok {
		p.records[name] = &kept{Record: Record{Key: k, State: Pending, Begun: at}}
		p.changed = latest(p.changed, at)
		return Record{Key: k}, nil
	}
	was := p.copyOf(r)
	if r.State == Failed && retry {
		*r = kept{Record: Record{Key: k, State: Pending, Attempts: r.Attempts, Begun: at}}
		p.changed = latest(p.changed, at)
	}
	return was, nil
}

// Finish implements Journal.
func (m *memory) Finish(ctx context.Context, p Part, owner Owner, mark string, records ...Record) (refused []Record, err error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	for i := range records {
		if err := records[i].Validate(p); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of, err := m.heldLocked(ctx, p, owner)
	if err != nil {
		return nil, err
	}
	if mark != "" {
		of.mark, of.marked = mark, of.calls
	}
	of.calls++
	for i := range records {
		r := &records[i]
		known, ok := of.records[item{r.Key.Content, r.Key.Occurrence}]
		switch {
		case !ok:
			refused = append(refused, Record{Key: r.Key})
		case known.State != Pending:
			refused = append(refused, of.copyOf(known))
		default:
			begun := known.Begun
			*known = kept{Record: r.copy(), call: of.calls}
			known.Begun, known.Ended, known.Behind = begun, r.Ended.Truncate(time.Microsecond), false
			of.changed = latest(of.changed, known.Ended)
		}
	}
	return refused, nil
}

// All implements Journal. It yields the records of one moment.
func (m *memory) All(ctx context.Context, p Part) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		records, err := m.recordsOf(ctx, p)
		if err != nil {
			yield(Record{}, err)
			return
		}
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (m *memory) recordsOf(ctx context.Context, p Part) (all []Record, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usableLocked(ctx); err != nil {
		return nil, err
	}
	for at, of := range m.parts {
		if at.Run != p.Run || p.Node != "" && at.Node != p.Node {
			continue
		}
		for _, r := range of.records {
			all = append(all, of.copyOf(r))
		}
	}
	return all, nil
}

// SaveLaw implements LawKeeper.
func (m *memory) SaveLaw(ctx context.Context, limiter string, saved Law) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usableLocked(ctx); err != nil {
		return err
	}
	m.laws[limiter] = Law{State: bytes.Clone(saved.State), At: saved.At.Truncate(time.Microsecond)}
	return nil
}

// LoadLaw implements LawKeeper.
func (m *memory) LoadLaw(ctx context.Context, limiter string) (Law, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usableLocked(ctx); err != nil {
		return Law{}, err
	}
	l := m.laws[limiter]
	l.State = bytes.Clone(l.State)
	return l, nil
}

// Close implements Journal.
func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.parts, m.laws = true, nil, nil
	return nil
}

func (m *memory) usableLocked(ctx context.Context) error {
	if m.closed {
		return ErrClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (m *memory) openLocked(ctx context.Context, p Part) (*part, error) {
	if err := m.usableLocked(ctx); err != nil {
		return nil, err
	}
	of, ok := m.parts[p]
	if !ok {
		return nil, ErrNotOpen
	}
	return of, nil
}

// heldLocked returns the part if owner has it.
func (m *memory) heldLocked(ctx context.Context, p Part, owner Owner) (*part, error) {
	of, err := m.openLocked(ctx, p)
	if err != nil {
		return nil, err
	}
	if of.lease.Owner.ID != owner.ID || owner.ID == "" {
		return nil, &HeldError{Part: p, Lease: of.lease, Lost: true}
	}
	return of, nil
}

func (p *part) copyOf(r *kept) Record {
	c := r.copy()
	c.Behind = r.call > p.marked
	return c
}

func (r *Record) copy() Record {
	c := *r
	c.Value = bytes.Clone(r.Value)
	return c
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
