package run

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/store/sqlitestore"
)

// watched is a journal that reports the progress of the run, and stores learned limits under the name of the service.
type watched struct {
	*sqlitestore.Journal

	law    string                                        // the name under which learned limits are stored
	opened func(context.Context, journal.Progress) error // receives the progress before anything is written
	anew   bool                                          // the records of other settings were forgotten
	failed atomic.Int64                                  // failures of earlier processes that came up again

	mu    sync.Mutex     // guards everything below
	tried map[string]int // attempts of failures that are retried, by key
}

func watch(kept *sqlitestore.Journal, law string) *watched {
	return &watched{Journal: kept, law: law, tried: map[string]int{}}
}

// Open implements journal.Journal. Records made with other settings are deleted if none of them is
// a completed request.
func (w *watched) Open(ctx context.Context, p journal.Part, owner journal.Owner, version string, at time.Time) (journal.Progress, error) {
	progress, err := w.Journal.Open(ctx, p, owner, version, at)
	if errors.As(err, new(*journal.VersionError)) && !w.hasDone(ctx, p) {
		if err = w.Forget(ctx, p.Run); err == nil {
			w.anew = true
			progress, err = w.Journal.Open(ctx, p, owner, version, at)
		}
	}
	if err != nil {
		return progress, err
	}
	if err := w.opened(ctx, progress); err != nil {
		return progress, errors.Join(err, w.Release(context.WithoutCancel(ctx), p, owner)) // a failed Open must not keep the claim
	}
	return progress, nil
}

func (w *watched) hasDone(ctx context.Context, p journal.Part) bool {
	for r, err := range w.All(ctx, p) {
		if err != nil || r.State == journal.Done {
			return true
		}
	}
	return false
}

// Begin implements journal.Journal.
func (w *watched) Begin(ctx context.Context, k journal.Key, at time.Time, retry bool) (journal.Record, error) {
	was, err := w.Journal.Begin(ctx, k, at, retry)
	if err == nil && was.State == journal.Failed {
		w.failed.Add(1)
	}
	if err == nil && was.Attempts > 0 && (was.State == journal.Pending || was.State == journal.Failed && retry) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.tried[k.Content] = was.Attempts
	}
	return was, err
}
