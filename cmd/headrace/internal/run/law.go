package run

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/journal"
)

// law is what the journal knows by what is learned of the limits. They differ by service, by account and, with a preset, by model.
func (j *Job) law() string { return fmt.Sprintf("%s %s %s", j.Base.Host, j.Spec.Preset, j.KeyName) }

// SaveLaw implements journal.LawKeeper. The limiter's own name says nothing of whose limits it has learned.
func (w *watched) SaveLaw(ctx context.Context, _ string, saved journal.Law) error {
	return w.Journal.SaveLaw(ctx, w.law, saved)
}

// LoadLaw implements journal.LawKeeper.
func (w *watched) LoadLaw(ctx context.Context, _ string) (journal.Law, error) {
	return w.Journal.LoadLaw(ctx, w.law)
}

// forget deletes what is recorded of a run, and what is learned.
func (w *watched) forget(ctx context.Context, run string) error {
	if err := w.Forget(ctx, run); err != nil {
		return err
	}
	return w.Journal.SaveLaw(ctx, w.law, journal.Law{State: []byte{}})
}
