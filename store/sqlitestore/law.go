package sqlitestore

import (
	"context"

	"github.com/headrace/headrace/journal"
)

// SaveLaw implements journal.LawKeeper.
func (j *Journal) SaveLaw(ctx context.Context, limiter string, saved journal.Law) error {
	if err := j.writer.enter(ctx); err != nil {
		return err
	}
	defer j.writer.leave()
	return j.writer.commit(ctx, func(t *tx) error {
		at := saved.At.UnixMicro()
		_, err := t.exec(`INSERT INTO laws (limiter, state, at, sum) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET state = excluded.state, at = excluded.at, sum = excluded.sum`,
			[]byte(limiter), saved.State, at, sumOfLaw(limiter, saved.State, at))
		return err
	})
}

func sumOfLaw(limiter string, state []byte, at int64) int64 {
	return int64(sum(0).numbers(at).bytes([]byte(limiter), state))
}

// LoadLaw implements journal.LawKeeper.
func (j *Journal) LoadLaw(ctx context.Context, limiter string) (saved journal.Law, err error) {
	if err := j.writer.enter(ctx); err != nil {
		return journal.Law{}, err
	}
	defer j.writer.leave()
	err = j.query(func(scan func(...any) error) error {
		var at, sum int64
		if err := scan(&saved.State, &at, &sum); err != nil {
			return err
		}
		if saved.At = timeOf(at); sum != sumOfLaw(limiter, saved.State, at) {
			saved = journal.Law{}
			return &sumError{of: "what was learned of " + limiter}
		}
		return nil
	}, `SELECT state, at, sum FROM laws WHERE limiter = ?`, []byte(limiter))
	return saved, err
}
