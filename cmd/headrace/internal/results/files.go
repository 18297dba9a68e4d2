package results

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/internal/appendfile"
	"github.com/headrace/headrace/node"
)

// Files is a sink for the two files of results that continues where an earlier process
// stopped. One mark holds the ends of both files, so that they stay consistent with the journal and with each other.
type Files struct {
	outPath, errsPath string
	format            requests.Format

	mu        sync.Mutex       // guards everything below
	out, errs *appendfile.File // nil once they are closed
	begun     bool             // a run has begun
	anew      bool             // the existing content is to be written again
	rewritten bool             // the run began with empty files
}

var _ node.ResumableSink[requests.Request, Answer] = (*Files)(nil)

// OpenFiles opens both files for lines of the format, and does not change them yet.
func OpenFiles(out, errs string, format requests.Format) (*Files, error) {
	f := &Files{outPath: out, errsPath: errs, format: format}
	var err error
	if f.out, err = openFile(out, "--out"); err != nil {
		return nil, fmt.Errorf("the results cannot be written: %w", err)
	}
	if f.errs, err = openFile(errs, "--errors"); err != nil {
		return nil, errors.Join(fmt.Errorf("the failures cannot be written: %w", err), f.out.CloseUsed())
	}
	return f, nil
}

// BusyError is a file that another process is writing.
type BusyError struct {
	Path string
	Flag string // that names the file
}

// Error names the file and the remedy.
func (e *BusyError) Error() string {
	return e.Path + " is being written by another process: wait for it, or use another " + e.Flag
}

// openFile opens the file at path, which flag names, and does not change it.
func openFile(path, flag string) (*appendfile.File, error) {
	f, err := appendfile.Open(path)
	switch {
	case errors.Is(err, appendfile.ErrBusy):
		err = &BusyError{path, flag}
	case err != nil:
		err = another(err, flag)
	}
	return f, err
}

// another adds the remedy to the error of a file that flag names.
func another(err error, flag string) error { return fmt.Errorf("%w: use another %s", err, flag) }

// Anew makes the next run write both files again from the journal, because failures that are
// retried have to be removed from their file.
func (f *Files) Anew() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.anew = true
}

// Rewritten reports whether the files contain only results of this run's requests.
func (f *Files) Rewritten() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rewritten
}

// Resume implements node.ResumableSink.
func (f *Files) Resume(_ context.Context, mark string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out, errs, ok := positions(mark)
	if !ok || mark != "" && f.anew {
		return false, nil
	}
	for file, at := range map[*appendfile.File]appendfile.Position{f.out: out, f.errs: errs} {
		if ok, err := file.Has(at); !ok || err != nil {
			return false, err
		}
	}
	f.begun, f.rewritten = true, mark == ""
	return true, errors.Join(f.out.Continue(out), f.errs.Continue(errs))
}

// positions returns the ends of both files at mark. It is not ok if mark does not hold positions.
func positions(mark string) (out, errs appendfile.Position, ok bool) {
	if mark == "" {
		return out, errs, true
	}
	first, second, _ := strings.Cut(mark, "+")
	out, fine := appendfile.Parse(first)
	errs, fineToo := appendfile.Parse(second)
	return out, errs, fine && fineToo
}

// Beyond returns the path of a file with lines after mark. It is empty if there is none, or if mark does not hold positions.
func (f *Files) Beyond(mark string) (path string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out, errs, ok := positions(mark)
	if !ok {
		return "", nil
	}
	if more, err := f.out.Beyond(out); more || err != nil {
		return f.outPath, err
	}
	if more, err := f.errs.Beyond(errs); more || err != nil {
		return f.errsPath, err
	}
	return "", nil
}

// Write implements node.Sink.
func (f *Files) Write(_ context.Context, results []Result) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun {
		return errNotOpen
	}
	for i := range results {
		text, failed := lineOf(&results[i], f.format)
		to := f.out
		if failed {
			to = f.errs
		}
		if err := to.Write(text); err != nil {
			return err
		}
	}
	return nil
}

var errNotOpen = errors.New("the results are not open: they are written by a run")

// Sync implements node.ResumableSink.
func (f *Files) Sync(context.Context) (mark string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun {
		return "", errNotOpen
	}
	out, err := f.out.Sync()
	if err != nil {
		return "", err
	}
	errs, err := f.errs.Sync()
	if err != nil {
		return "", err
	}
	return out.String() + "+" + errs.String(), nil
}

// Close closes both files. It removes an empty file for failures, and an empty file for results
// if no run has begun.
func (f *Files) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.out == nil {
		return nil
	}
	closeOut := f.out.CloseUsed
	if f.begun {
		closeOut = f.out.Close
	}
	err := errors.Join(closeOut(), f.errs.CloseUsed())
	f.out, f.errs, f.begun = nil, nil, false
	return err
}
