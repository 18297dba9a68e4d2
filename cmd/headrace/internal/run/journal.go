package run

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/store/sqlitestore"
)

// watched is a journal that notices when a request is not the one that was done under its
// custom_id. Its result stays, and the run tells of it: neither is paid for twice, nor do results mix unseen.
type watched struct {
	*sqlitestore.Journal

	law    string                                        // what is learnt is kept under that name
	opened func(context.Context, journal.Progress) error // told how far the run has come, before anything is written
	differ func(requests.Request)                        // told each request that has changed

	mu    sync.Mutex             // guards everything below
	asked map[string][]expecting // that nobody has begun yet, by their keys
	tried map[string]int         // attempts of failures that are tried again, by their keys
}

func watch(kept *sqlitestore.Journal, law string) *watched {
	return &watched{Journal: kept, law: law, asked: map[string][]expecting{}, tried: map[string]int{}}
}

// expecting is what is known of a request that is about to be begun.
type expecting struct {
	line     int64
	id, hash string
}

// expect notes what is about to be begun.
func (w *watched) expect(q *requests.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[q.Key()] = append(w.asked[q.Key()], expecting{q.Line, q.ID, q.Hash()})
}

// begun returns the first that is expected under key.
func (w *watched) begun(key string) (e expecting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch all := w.asked[key]; len(all) {
	case 0:
	case 1:
		e = all[0]
		delete(w.asked, key)
	default:
		e, w.asked[key] = all[0], all[1:]
	}
	return e
}

// Open implements journal.Journal. What was recorded with other settings is forgotten if
// nothing of it is done.
func (w *watched) Open(ctx context.Context, p journal.Part, owner journal.Owner, version string, at time.Time) (journal.Progress, error) {
	progress, err := w.Journal.Open(ctx, p, owner, version, at)
	if errors.As(err, new(*journal.VersionError)) && !w.hasDone(ctx, p) {
		if err = w.Forget(ctx, p.Run); err == nil {
			progress, err = w.Journal.Open(ctx, p, owner, version, at)
		}
	}
	if err != nil {
		return progress, err
	}
	if err := w.opened(ctx, progress); err != nil {
		return progress, errors.Join(err, w.Release(context.WithoutCancel(ctx), p, owner)) // an Open that fails claims nothing
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
	e := w.begun(k.Content)
	was, err := w.Journal.Begin(ctx, k, at, retry)
	if err == nil && was.State == journal.Done && e.hash != "" {
		var known results.Answer
		if json.Unmarshal(was.Value, &known) == nil && known.Of != e.hash {
			w.differ(requests.Request{Line: e.line, ID: e.id})
		}
	}
	if err == nil && was.Attempts > 0 && (was.State == journal.Pending || was.State == journal.Failed && retry) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.tried[k.Content] = was.Attempts
	}
	return was, err
}
