package run

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/journal"
)

// law returns the name under which the journal stores learned limits. They differ by service, by account and, with a preset, by model.
func (j *Job) law() string { return fmt.Sprintf("%s %s %s", j.Base.Host, j.Spec.Preset, j.KeyName) }

// SaveLaw implements journal.LawKeeper. The limiter's own name does not identify the account.
func (w *watched) SaveLaw(ctx context.Context, _ string, saved journal.Law) error {
	return w.Journal.SaveLaw(ctx, w.law, saved)
}

// LoadLaw implements journal.LawKeeper.
func (w *watched) LoadLaw(ctx context.Context, _ string) (journal.Law, error) {
	return w.Journal.LoadLaw(ctx, w.law)
}

// forget deletes the records of a run, and its learned limits.
func (w *watched) forget(ctx context.Context, run string) error {
	if err := w.Forget(ctx, run); err != nil {
		return err
	}
	return w.Journal.SaveLaw(ctx, w.law, journal.Law{State: []byte{}})
}
