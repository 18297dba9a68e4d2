package sqlitestore

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/headrace/headrace/journal"
)

// forgetAtOnce is how many records a transaction deletes, and how many pages it
// gives back to the disk: a few milliseconds, between which others write.
const forgetAtOnce = 500

const listRuns = `SELECT ` + partColumns + ` FROM parts WHERE run IS NOT NULL ORDER BY run`

// Runs implements journal.Retainer. It reads no records.
func (j *Journal) Runs(ctx context.Context) iter.Seq2[journal.Run, error] {
	return func(yield func(journal.Run, error) bool) {
		runs, err := j.runs(ctx)
		if err != nil {
			yield(journal.Run{}, err)
			return
		}
		for _, run := range runs {
			if !yield(run, nil) {
				return
			}
		}
	}
}

func (j *Journal) runs(ctx context.Context) (runs []journal.Run, err error) {
	err = j.eachPart(ctx, func(p part) {
		if n := len(runs); n == 0 || runs[n-1].Name != p.name.Run {
			runs = append(runs, journal.Run{Name: p.name.Run, Opened: timeOf(p.opened)})
		}
		p.addTo(&runs[len(runs)-1])
	}, listRuns)
	return runs, err
}

func (p *part) addTo(run *journal.Run) {
	if at := timeOf(p.opened); at.Before(run.Opened) {
		run.Opened = at
	}
	if at := timeOf(p.changed); at.After(run.Changed) {
		run.Changed = at
	}
	run.Pending += p.pending
	run.Done += p.done
	run.Failed += p.failed
	run.Bytes += p.bytes
}

// Forget implements journal.Retainer. The run is gone at once; its records are then deleted in small
// steps, and the file shrinks. If that is interrupted, the next Forget completes it.
func (j *Journal) Forget(ctx context.Context, run string) error {
	return j.forget(ctx, run, func(*tx) (bool, error) { return true, nil })
}

// ForgetUnchanged implements journal.Retainer, as Forget does.
func (j *Journal) ForgetUnchanged(ctx context.Context, run string, t time.Time) (forgotten bool, err error) {
	err = j.forget(ctx, run, func(x *tx) (bool, error) {
		forgotten, err = x.unchanged(run, t)
		return forgotten, err
	})
	return forgotten && err == nil, err
}

// forget deletes the run if may, which is called in the same transaction, allows it.
func (j *Journal) forget(ctx context.Context, run string, may func(*tx) (bool, error)) error {
	j.fresh.changed()
	var held *journal.HeldError
	err := j.change(ctx, func(t *tx) (err error) {
		if err := j.settle(t); err != nil {
			return err
		}
		if ok, err := may(t); !ok || err != nil {
			return err
		}
		if held, err = t.heldPart(run); err != nil || held != nil {
			return err
		}
		_, err = t.exec(`UPDATE parts SET run = NULL, node = NULL WHERE run = ?`, run)
		return err
	})
	switch {
	case err != nil:
		return err
	case held != nil:
		return held
	}
	for more := true; more; {
		if err := j.change(ctx, func(t *tx) (err error) {
			more, err = t.sweep()
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// unchanged reports whether the run is there, and none of its parts has changed since at.
func (t *tx) unchanged(run string, at time.Time) (unchanged bool, err error) {
	rows, err := t.conn.QueryContext(t.ctx, `SELECT `+partColumns+` FROM parts WHERE run = ?`, run)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var p part
		if err := rows.Scan(p.into()...); err != nil {
			return false, err
		}
		if err := p.check(); err != nil || !timeOf(p.changed).Before(at) {
			return false, err
		}
		unchanged = true
	}
	return unchanged, rows.Err()
}

// heldPart looks for a part of the run that an owner has.
func (t *tx) heldPart(run string) (held *journal.HeldError, err error) {
	rows, err := t.conn.QueryContext(t.ctx, `SELECT `+partColumns+` FROM parts WHERE run = ? AND owner IS NOT NULL`, run)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for now := time.Now(); rows.Next() && held == nil; {
		var p part
		if err := rows.Scan(p.into()...); err != nil {
			return nil, err
		}
		if err := p.check(); err != nil {
			return nil, err
		}
		held = p.excluded(journal.Owner{}, now)
	}
	return held, rows.Err()
}

// change is a commit between which and the next one the journal may be closed.
func (j *Journal) change(ctx context.Context, do func(*tx) error) error {
	if err := j.writer.enter(ctx); err != nil {
		return err
	}
	defer j.writer.leave()
	return j.writer.commit(ctx, do)
}

// sweep deletes some records of what was forgotten, or gives back some room.
func (t *tx) sweep() (more bool, err error) {
	var part int64
	forgotten, err := t.row([]any{&part}, `SELECT id FROM parts WHERE run IS NULL LIMIT 1`)
	if err != nil {
		return false, err
	}
	if !forgotten {
		return t.shrink()
	}
	n, err := t.exec(`DELETE FROM records WHERE id IN (SELECT id FROM records WHERE part = ? LIMIT ?)`, part, forgetAtOnce)
	if err != nil || n == forgetAtOnce {
		return true, err
	}
	_, err = t.exec(`DELETE FROM parts WHERE id = ?`, part)
	return true, err
}

func (t *tx) shrink() (more bool, err error) {
	var free int64
	if _, err := t.row([]any{&free}, `PRAGMA freelist_count`); err != nil || free == 0 {
		return false, err
	}
	// An argument of a pragma cannot be bound.
	if _, err := t.exec(`PRAGMA incremental_vacuum(500)`); err != nil {
		return false, err
	}
	left := free
	if _, err := t.row([]any{&left}, `PRAGMA freelist_count`); err != nil {
		return false, err
	}
	return left > 0 && left < free, nil
}
