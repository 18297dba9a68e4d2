package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/journal"
)

// idempotencyKey returns the same key for all attempts of a request, also in another process, so that a service that supports it does nothing
// twice. The key changes with --fresh, and once a failure is recorded, because the service would return the same failure again.
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

// attempts returns the number of attempts of an item before its failure was recorded; 0 if there is no such record.
func (w *watched) attempts(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tried[key]
}
