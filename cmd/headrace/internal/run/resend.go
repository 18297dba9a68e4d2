package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/journal"
)

// idempotencyKey is the same as often as a request is sent to one end, also by another process: a service that heeds it does nothing
// twice. It is another after --fresh, and once a failure is recorded: what has failed would come back as it was.
func (j *Job) idempotencyKey(q *requests.Request) string {
	failed := 0
	if j.journal != nil {
		failed = j.journal.attempts(q.Key())
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s %s", j.began.UnixMicro(), failed, q.Hash(), q.ID))
	return "headrace-" + hex.EncodeToString(sum[:16])
}

// Finish implements journal.Journal.
func (w *watched) Finish(
	ctx context.Context, p journal.Part, owner journal.Owner, mark string, records ...journal.Record,
) ([]journal.Record, error) {
	refused, err := w.Journal.Finish(ctx, p, owner, mark, records...)
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range records {
		delete(w.tried, records[i].Key.Content)
	}
	return refused, err
}

// attempts is how often what is under way has been tried before it was recorded as failed; 0 if it was not.
func (w *watched) attempts(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tried[key]
}
