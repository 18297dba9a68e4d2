package sqlitestore

import (
	"context"

	"github.com/headrace/headrace/journal"
)

// SaveLaw implements journal.LawKeeper. It is on disk on return.
func (j *Journal) SaveLaw(ctx context.Context, limiter string, saved journal.Law) error {
	if err := j.writer.enter(ctx); err != nil {
		return err
	}
	defer j.writer.leave()
	return j.writer.commit(ctx, func(t *tx) error {
		_, err := t.exec(`INSERT INTO laws (limiter, state, at) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET state = excluded.state, at = excluded.at`, []byte(limiter), saved.State, saved.At.UnixMicro())
		return err
	})
}

// LoadLaw implements journal.LawKeeper.
func (j *Journal) LoadLaw(ctx context.Context, limiter string) (saved journal.Law, err error) {
	if err := j.writer.enter(ctx); err != nil {
		return journal.Law{}, err
	}
	defer j.writer.leave()
	err = j.query(func(scan func(...any) error) error {
		var at int64
		err := scan(&saved.State, &at)
		saved.At = timeOf(at)
		return err
	}, `SELECT state, at FROM laws WHERE limiter = ?`, []byte(limiter))
	return saved, err
}
