package sqlitestore

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/journal"
)

// Renew implements journal.Journal.
func (j *Journal) Renew(ctx context.Context, name journal.Part, owner journal.Owner, at time.Time) error {
	err := j.held(ctx, name, owner, j.writer.commitSoon, func(_ *tx, p *part) error {
		p.renewed, p.dirty = at.UnixMicro(), true
		return nil
	})
	if err == nil {
		j.fresh.renewed(name, at)
	}
	return err
}

// Release implements journal.Journal.
func (j *Journal) Release(ctx context.Context, name journal.Part, owner journal.Owner) error {
	j.fresh.ended(name)
	err := j.held(ctx, name, owner, j.writer.commitSoon, func(t *tx, p *part) error {
		p.release()
		return j.begun.writeAll(t)
	})
	if errors.Is(err, journal.ErrNotOpen) || errors.As(err, new(*journal.HeldError)) {
		return nil // it has no claim to end
	}
	return err
}

// held has do change a part that owner has.
func (j *Journal) held(
	ctx context.Context, name journal.Part, owner journal.Owner,
	commit func(context.Context, func(*tx) error) error, do func(*tx, *part) error,
) error {
	if err := j.writer.enter(ctx); err != nil {
		return err
	}
	defer j.writer.leave()
	var refused error
	err := commit(ctx, func(t *tx) error {
		refused = nil
		p, err := t.part(name)
		if err != nil {
			return err
		}
		if p == nil {
			refused = journal.ErrNotOpen
			return nil
		}
		if lost := p.lost(owner); lost != nil {
			j.fresh.ended(name)
			refused = lost
			return nil //nolint:nilerr // the transaction is fine
		}
		return do(t, p)
	})
	if err != nil {
		return err
	}
	return refused
}
