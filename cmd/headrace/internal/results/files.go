package results

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/node"
)

// Files are the two files of results, as a sink that goes on where an earlier process has come
// to. One mark holds the ends of both, so that they never part from the journal nor from each other.
type Files struct {
	mu        sync.Mutex // guards everything below
	out, errs *file
	begun     bool // a run has begun
	anew      bool // what is there is to be written again
}

var _ node.ResumableSink[requests.Request, Answer] = (*Files)(nil)

// OpenFiles opens both, and changes nothing in them yet.
func OpenFiles(out, errs string) (*Files, error) {
	f := &Files{}
	var err error
	if f.out, err = openFile(out); err != nil {
		return nil, fmt.Errorf("the results cannot be written: %w", err)
	}
	if f.errs, err = openFile(errs); err != nil {
		return nil, errors.Join(fmt.Errorf("the failures cannot be written: %w", err), f.out.close())
	}
	return f, nil
}

// Anew has the next run write both files again, from the journal: failures that are tried
// again have to leave the file where they are.
func (f *Files) Anew() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.anew = true
}

// Resume implements node.ResumableSink.
func (f *Files) Resume(_ context.Context, mark string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out, errs position
	if mark != "" {
		first, second, _ := strings.Cut(mark, "+")
		var fine, fineToo bool
		out, fine = positionOf(first)
		errs, fineToo = positionOf(second)
		if !fine || !fineToo || f.anew {
			return false, nil
		}
	}
	for file, at := range map[*file]position{f.out: out, f.errs: errs} {
		if ok, err := file.has(at); !ok || err != nil {
			return false, err
		}
	}
	f.begun = true
	return true, errors.Join(f.out.goOn(out), f.errs.goOn(errs))
}

// Write implements node.Sink.
func (f *Files) Write(_ context.Context, results []Result) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun {
		return errNotOpen
	}
	for i := range results {
		text, failed := lineOf(&results[i])
		to := f.out
		if failed {
			to = f.errs
		}
		if err := to.write(text); err != nil {
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
	if err := f.out.sync(); err != nil {
		return "", err
	}
	if err := f.errs.sync(); err != nil {
		return "", err
	}
	return f.out.at.String() + "+" + f.errs.at.String(), nil
}

// Close closes both. A file for failures without any does not stay, nor does one for results
// if no run has begun.
func (f *Files) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := errors.Join(f.out.close(), f.errs.close())
	removeEmpty(f.errs.path)
	if !f.begun {
		removeEmpty(f.out.path)
	}
	return err
}

func removeEmpty(path string) {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 { // a link stays
		_ = os.Remove(path)
	}
}
