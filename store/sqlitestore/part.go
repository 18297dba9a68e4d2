package sqlitestore

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/journal"
)

// leaseTime is how long the claim to a part lasts without being renewed.
const leaseTime = 30 * time.Second

// part is the row of one, as a transaction has made it so far.
type part struct {
	id   int64
	name journal.Part

	version, mark                []byte
	pending, done, failed, bytes int64
	opened, changed              int64
	calls, marked, behind        int64

	owner, host, process []byte
	pid, since, renewed  int64

	sum   int64
	dirty bool // it differs from the file
}

const partColumns = `id, run, node, version, mark, pending, done, failed, bytes, opened, changed, calls, marked, behind,
	owner, host, pid, process, since, renewed, sum`

func (p *part) into() []any {
	return []any{
		&p.id, &p.name.Run, &p.name.Node, &p.version, &p.mark, &p.pending, &p.done, &p.failed, &p.bytes, &p.opened, &p.changed,
		&p.calls, &p.marked, &p.behind, &p.owner, &p.host, &p.pid, &p.process, &p.since, &p.renewed, &p.sum,
	}
}

func (p *part) sumOf() int64 {
	return int64(sum(0).numbers(p.id, p.pending, p.done, p.failed, p.bytes, p.opened, p.changed, p.calls, p.marked, p.behind,
		p.pid, p.since, p.renewed).bytes([]byte(p.name.Run), []byte(p.name.Node), p.version, p.mark, p.owner, p.host, p.process))
}

func (p *part) check() error {
	if p.sum != p.sumOf() {
		return &sumError{of: fmt.Sprintf("run %q, node %q", p.name.Run, p.name.Node)}
	}
	return nil
}

// at notes that the part was used then.
func (p *part) at(micros int64) {
	p.changed, p.dirty = max(p.changed, micros), true
}

func (p *part) progress() journal.Progress {
	return journal.Progress{
		Pending: p.pending, Done: p.done, Failed: p.failed, Mark: string(p.mark), Behind: p.behind, RenewWithin: leaseTime,
	}
}

func (p *part) lease() journal.Lease {
	if len(p.owner) == 0 {
		return journal.Lease{}
	}
	return journal.Lease{
		Owner: journal.Owner{ID: string(p.owner), Host: string(p.host), PID: int(p.pid), Process: string(p.process)},
		Since: timeOf(p.since), Renewed: timeOf(p.renewed),
	}
}

// excluded returns the error for an owner that the part is held from, or nil.
func (p *part) excluded(o journal.Owner, at time.Time) *journal.HeldError {
	l := p.lease()
	if !l.Excludes(o, at, leaseTime) {
		return nil
	}
	return l.Refuse(p.name, leaseTime)
}

// lost returns the error for an owner that does not have the part, or nil.
func (p *part) lost(o journal.Owner) *journal.HeldError {
	if o.ID != "" && string(p.owner) == o.ID {
		return nil
	}
	return &journal.HeldError{Part: p.name, Lease: p.lease(), Lost: true}
}

func (p *part) claim(o journal.Owner, at int64) {
	if string(p.owner) != o.ID {
		p.since = at
	}
	p.owner, p.host, p.pid, p.process = blob(o.ID), blob(o.Host), int64(o.PID), blob(o.Process)
	p.renewed, p.dirty = at, true
}

func (p *part) release() {
	p.owner, p.host, p.pid, p.process = nil, nil, 0, nil
	p.since, p.renewed, p.dirty = 0, 0, true
}

// parts are the rows that a transaction has read: each is read and written
// once, however many records change.
type parts struct {
	byName map[journal.Part]*part // nil: there is none
	byID   map[int64]*part        // likewise
}

func newParts() parts {
	return parts{byName: map[journal.Part]*part{}, byID: map[int64]*part{}}
}

func (p *parts) reset() {
	clear(p.byName)
	clear(p.byID)
}

// part returns the part of that name, or nil if it is not open.
func (t *tx) part(name journal.Part) (*part, error) {
	if p, known := t.parts.byName[name]; known {
		return p, nil
	}
	p, err := t.readPart(`SELECT `+partColumns+` FROM parts WHERE run = ? AND node = ?`, name.Run, name.Node)
	if err == nil && p == nil {
		t.parts.byName[name] = nil
	}
	return p, err
}

// partOf returns the part with that id, or nil if it was forgotten.
func (t *tx) partOf(id int64) (*part, error) {
	if p, known := t.parts.byID[id]; known {
		return p, nil
	}
	p, err := t.readPart(`SELECT `+partColumns+` FROM parts WHERE id = ? AND run IS NOT NULL`, id)
	if err == nil && p == nil {
		t.parts.byID[id] = nil
	}
	return p, err
}

func (t *tx) readPart(query string, args ...any) (*part, error) {
	var p part
	found, err := t.row(p.into(), query, args...)
	if err != nil || !found {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	t.parts.byName[p.name], t.parts.byID[p.id] = &p, &p
	return &p, nil
}

const insertPart = `INSERT INTO parts (run, node, version, opened, changed, sum) VALUES (?, ?, ?, ?, ?, 0) RETURNING id`

// newPart makes a part that is opened at at.
func (t *tx) newPart(name journal.Part, version string, at int64) (*part, error) {
	p := &part{name: name, version: []byte(version), opened: at, changed: at, dirty: true}
	if _, err := t.row([]any{&p.id}, insertPart, name.Run, name.Node, p.version, at, at); err != nil {
		return nil, err
	}
	t.parts.byName[name], t.parts.byID[p.id] = p, p
	return p, nil
}

const writePart = `UPDATE parts SET mark = ?, pending = ?, done = ?, failed = ?, bytes = ?, changed = ?, calls = ?, marked = ?, behind = ?,
	owner = ?, host = ?, pid = ?, process = ?, since = ?, renewed = ?, sum = ? WHERE id = ?`

// settle writes the rows of the parts. What reads or removes them calls it first, and so does the commit.
func (t *tx) settle() error {
	for id, p := range t.parts.byID {
		if p == nil || !p.dirty {
			continue
		}
		if _, err := t.exec(writePart, p.mark, p.pending, p.done, p.failed, p.bytes, p.changed, p.calls, p.marked, p.behind,
			p.owner, p.host, p.pid, p.process, p.since, p.renewed, p.sumOf(), id); err != nil {
			return err
		}
	}
	t.parts.reset()
	return nil
}
