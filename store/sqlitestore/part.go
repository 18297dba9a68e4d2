package sqlitestore

import (
	"database/sql"

	"github.com/headrace/headrace/journal"
)

const (
	findPart   = `SELECT id FROM parts WHERE run = ? AND node = ?`
	partLives  = `SELECT id FROM parts WHERE id = ? AND run IS NOT NULL`
	changePart = `UPDATE parts SET pending = pending + ?, done = done + ?, failed = failed + ?, bytes = bytes + ?,
		changed = max(changed, coalesce(?, changed)), mark = coalesce(?, mark) WHERE id = ?`
)

// parts is what a transaction knows of the parts, and what it will have changed
// in their rows: once for each, however many records it changes.
type parts struct {
	ids     map[journal.Part]int64
	lives   map[int64]bool
	changes map[int64]*change
}

// change is what happened to a part: by how much its sums differ, and more.
type change struct {
	pending, done, failed, bytes int64

	latest sql.NullInt64
	mark   string
}

func newParts() parts {
	return parts{ids: map[journal.Part]int64{}, lives: map[int64]bool{}, changes: map[int64]*change{}}
}

func (p *parts) reset() {
	clear(p.ids)
	clear(p.lives)
	clear(p.changes)
}

func (p *parts) change(id int64) *change {
	c := p.changes[id]
	if c == nil {
		c = &change{}
		p.changes[id] = c
	}
	return c
}

func (c *change) at(micros int64) {
	if !c.latest.Valid || micros > c.latest.Int64 {
		c.latest = sql.NullInt64{Int64: micros, Valid: true}
	}
}

// part returns the id of p, if it is open.
func (t *tx) part(p journal.Part) (id int64, found bool, err error) {
	if id, found = t.parts.ids[p]; found {
		return id, true, nil
	}
	if found, err = t.row([]any{&id}, findPart, p.Run, p.Node); found {
		t.parts.ids[p] = id
	}
	return id, found, err
}

// partLives reports whether that part has not been forgotten.
func (t *tx) partLives(id int64) (lives bool, err error) {
	lives, known := t.parts.lives[id]
	if known {
		return lives, nil
	}
	if lives, err = t.row([]any{&id}, partLives, id); err == nil {
		t.parts.lives[id] = lives
	}
	return lives, err
}

// settle writes the rows of the parts. Who reads or removes them calls it first, and so does the commit.
func (t *tx) settle() error {
	for id, c := range t.parts.changes {
		if _, err := t.exec(changePart, c.pending, c.done, c.failed, c.bytes, c.latest, blob(c.mark), id); err != nil {
			return err
		}
	}
	t.parts.reset()
	return nil
}
