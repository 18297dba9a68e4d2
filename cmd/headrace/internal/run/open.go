package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/internal/occurrence"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/store/sqlitestore"
)

// open opens the journal and the files for results. Nothing is changed before this process owns all of them.
func (j *Job) open(ctx context.Context) (err error) {
	if err := j.foreign(ctx); err != nil {
		return err
	}
	if j.Journal == "" || j.Ordered || j.Out == results.Stdout || !settings.Regular(j.Out) || !settings.Regular(j.Errors) {
		opener := func(path string, open func() (*os.File, error)) (*os.File, error) {
			return unless(ctx, func() { j.waitsFor("to read", path) }, open)
		}
		j.lines, err = results.OpenLines(j.Out, j.Errors, j.Stdout, j.Lines, opener)
	} else {
		j.files, err = results.OpenFiles(j.Out, j.Errors, j.Lines)
	}
	if err == nil && j.Journal == "" {
		err = j.lines.Begin()
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if errors.As(err, new(*results.BusyError)) {
		err = cmp.Or(j.holder(ctx), err)
	}
	if err != nil || j.Journal == "" {
		return usage(err)
	}
	kept, err := sqlitestore.OpenJournal(j.Journal)
	if err != nil {
		return usagef("--journal: %s: %w", j.Journal, plainKept(err))
	}
	j.journal = watch(kept, j.law())
	j.journal.opened = j.opened
	if err := j.mine(ctx, kept); err != nil {
		return err
	}
	if j.Fresh {
		var held *journal.HeldError
		if err := j.journal.forget(ctx, j.run()); errors.As(err, &held) {
			return j.busy(held)
		} else if err != nil {
			return usagef("--journal: %s: %w", j.Journal, plainKept(err))
		}
	}
	return nil
}

// holder returns the process that writes the results, or nil if the journal does not record it.
func (j *Job) holder(ctx context.Context) error {
	kept := j.existing()
	if kept == nil {
		return nil
	}
	defer func() { _ = kept.Close() }()
	part := journal.Part{Run: j.run(), Node: batchName}
	var held *journal.HeldError // a new owner does not have a claim to renew
	if err := kept.Renew(ctx, part, journal.NewOwner(), time.Now()); !errors.As(err, &held) || held.Lease.Owner.ID == "" {
		return nil
	}
	held.Lost = false
	return j.busy(held)
}

// foreign returns an error if a file for results already exists and holds something else. Such a file is not emptied.
func (j *Job) foreign(ctx context.Context) error {
	for _, at := range []struct{ flag, path string }{{"--out", j.Out}, {"--errors", j.Errors}} {
		switch {
		case j.Fresh || at.path == results.Stdout || !results.Foreign(at.path):
		case j.recorded(ctx) && results.Gap(at.path): // it is written again
		case j.recorded(ctx):
			remedy := "move it away" // another --out is another run
			if at.path == j.Errors {
				remedy = "move it away or use another --errors"
			}
			return usagef("%s holds something other than results: %s, and this run's lines are written again from the journal %s; --fresh overwrites it, but sends all requests again",
				at.path, remedy, j.Journal)
		default:
			return usagef("%s exists, and holds something other than results: use --fresh to overwrite it, or another %s", at.path, at.flag)
		}
	}
	return nil
}

// recorded reports whether the journal already has this run. A journal that cannot be read is reported later.
func (j *Job) recorded(ctx context.Context) bool {
	kept := j.existing()
	if kept == nil {
		return false
	}
	defer func() { _ = kept.Close() }()
	is, err := j.records(ctx, kept)
	return is && err == nil
}

// existing opens the journal if there is one, and returns nil otherwise.
func (j *Job) existing() *sqlitestore.Journal {
	if info, err := os.Stat(j.Journal); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	kept, err := sqlitestore.OpenJournal(j.Journal)
	if err != nil {
		return nil
	}
	return kept
}

// records reports whether kept has this run.
func (j *Job) records(ctx context.Context, kept *sqlitestore.Journal) (bool, error) {
	for known, err := range kept.Runs(ctx) {
		if err != nil || known.Name == j.run() {
			return err == nil, err
		}
	}
	return false, nil
}

// mine checks that existing results belong to a run in the journal. Lines without a record, which a killed process
// has left, are cut off.
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
	switch is, err := j.records(ctx, kept); {
	case err != nil:
		return usagef("--journal: %s: %w", j.Journal, plainKept(err))
	case is:
		return nil
	}
	return usagef("%s exists, and is not recorded in the journal %s: use --fresh to overwrite it, or another %s", there, j.Journal, flag)
}

// opened receives the progress of the run.
func (j *Job) opened(ctx context.Context, p journal.Progress) error {
	j.outcome.Before, j.doneBefore, j.failedBefore = p.Done+p.Failed, p.Done, p.Failed
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
	if err := j.unknown(p); err != nil {
		return err
	}
	_, lacking := occurrence.CutLacking(p.Mark)
	j.lacking = int64(len(lacking))
	if j.RetryFailed && p.Failed > 0 {
		j.files.Anew()
	}
	return nil
}

// unknown returns an error if a file has lines of another run. Lines of this run are recorded before they are written, so
// lines after the mark are its own only if there are such records, if the mark names some that a run with --ordered may have written
// since, or if records of other settings were deleted.
func (j *Job) unknown(p journal.Progress) error {
	if j.Fresh || j.journal.anew || p.Behind > 0 {
		return nil
	}
	path, err := j.files.Beyond(p.Mark)
	if err != nil || path == "" {
		return err
	}
	remedy := "move " + path + " away"
	if path == j.Errors {
		remedy = "use another --errors"
	}
	return usagef("%s has lines that are not recorded in the journal %s: %s, and this run's lines are rewritten from the journal; or overwrite the file with --fresh, which sends all requests again",
		path, j.Journal, remedy)
}

// ErrJournalGone is the error of a run that has lost its journal, and cannot be resumed without it.
var ErrJournalGone = errors.New("it was deleted, moved or replaced during the run")

// plainKept returns an error of the journal without the names of its package and file.
func plainKept(err error) error {
	f := (*sqlitestore.FileError)(nil)
	switch {
	case !errors.As(err, &f):
		return err
	case errors.Is(f.Reason, sqlitestore.ErrGone):
		return ErrJournalGone
	case f.Err == nil:
		return f.Reason
	}
	return fmt.Errorf("%w (%w)", f.Reason, f.Err)
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
