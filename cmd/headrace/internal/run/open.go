package run

import (
	"context"
	"errors"
	"os"

	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/store/sqlitestore"
)

// open opens the journal and what is written to. Nothing is changed before all of it is this process's own.
func (j *Job) open(ctx context.Context) error {
	if j.Journal == "" {
		return j.openLines(true)
	}
	kept, err := sqlitestore.OpenJournal(j.Journal)
	if err != nil {
		return usagef("--journal: it cannot be used: %w", err)
	}
	j.journal = watch(kept, j.law())
	j.journal.opened, j.journal.differ = j.opened, j.changed
	if j.Ordered || j.Out == results.Stdout || !settings.Regular(j.Out) || !settings.Regular(j.Errors) {
		err = j.openLines(false)
	} else if j.files, err = results.OpenFiles(j.Out, j.Errors); err != nil {
		err = &UsageError{err}
	}
	if err != nil {
		return err
	}
	if err := j.mine(ctx, kept); err != nil {
		return err
	}
	if j.Fresh {
		if err := j.journal.forget(ctx, j.run()); err != nil {
			return usagef("--journal: it cannot be used: %w", err)
		}
	}
	return nil
}

// mine looks whether the results that are there are of a run that the journal knows: what somebody else has
// written is not emptied. Lines without a record are, which a process that was killed has left.
func (j *Job) mine(ctx context.Context, kept *sqlitestore.Journal) error {
	written := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular() && info.Size() > 0
	}
	there, flag := j.Out, "--out"
	if !written(there) {
		there, flag = j.Errors, "--errors"
	}
	if j.Fresh || !written(there) {
		return nil
	}
	for known, err := range kept.Runs(ctx) {
		if err != nil {
			return usagef("--journal: it cannot be used: %w", err)
		}
		if known.Name == j.run() {
			return nil
		}
	}
	return usagef("%s is there, and the journal %s knows nothing of it: --fresh overwrites it, or give another %s", there, j.Journal, flag)
}

func (j *Job) openLines(begin bool) (err error) {
	if j.lines, err = results.OpenLines(j.Out, j.Errors, j.Stdout); err == nil && begin {
		err = j.lines.Begin()
	}
	if err != nil {
		return &UsageError{err}
	}
	return nil
}

// opened is told how far the run has come.
func (j *Job) opened(ctx context.Context, p journal.Progress) error {
	j.outcome.Before = p.Done + p.Failed
	for known, err := range j.journal.Runs(ctx) {
		if err != nil {
			return err
		}
		if known.Name == j.run() {
			j.began = known.Opened
		}
	}
	if j.lines != nil {
		return j.lines.Begin()
	}
	if j.RetryFailed && p.Failed > 0 {
		j.files.Anew()
	}
	return nil
}

func (j *Job) close() error {
	var err error
	if j.files != nil {
		err = j.files.Close()
	}
	if j.lines != nil {
		err = errors.Join(err, j.lines.Close())
	}
	if j.journal != nil {
		err = errors.Join(err, j.journal.Close())
	}
	return err
}
