package sqlitestore

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/internal/meter"
	"github.com/headrace/headrace/internal/tally"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// CoolAnd runs f in a transaction in which a key was cooled down.
func (q *Quota) CoolAnd(ctx context.Context, key string, d time.Duration, f func()) error {
	return q.change(ctx, func(l *ledger) error {
		err := errors.Join(l.cool(key, d), l.write())
		f()
		return err
	})
}

// EndAt is End, and returns the instant of the decision and the last token that was given before.
func (q *Quota) EndAt(ctx context.Context, t quota.Ticket, actual []throttle.Cost) (at, after int64, err error) {
	err = q.change(ctx, func(l *ledger) error {
		at, after = l.clock.at, l.clock.token
		return l.end(&t, func(i int, _ meter.Amounts) meter.Amounts { return tally.Used(actual[i]) })
	})
	return at, after, err
}

// Exec runs statements on the connection that writes, while no call does.
func (q *Quota) Exec(statements string) error { return q.file.exec(statements) }

// Waiting returns how many calls wait.
func (q *Quota) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue)
}

// Impatient has q go on without its turn after d.
func (q *Quota) Impatient(d time.Duration) { q.baton.patience = d }

// TurnOf is the file by which the processes with the file at path take turns.
func TurnOf(path string) string { return path + turnSuffix }

// OpenQuotaAt is OpenQuota with another clock than that of the host.
func OpenQuotaAt(path string, now func() time.Time, options ...Option) (*Quota, error) {
	q, err := OpenQuota(path, options...)
	if err == nil {
		q.now = now
	}
	return q, err
}

// ExecInWriter runs statements on the connection that writes.
func (j *Journal) ExecInWriter(ctx context.Context, statements string) error {
	if err := j.writer.enter(ctx); err != nil {
		return err
	}
	defer j.writer.leave()
	return j.writer.commit(ctx, func(t *tx) error {
		_, err := t.conn.ExecContext(t.ctx, statements)
		return err
	})
}

// Migrate brings the file at path to the version that these steps lead to.
func Migrate(path string, steps []string) (err error) {
	f := &file{ctx: context.Background(), path: path}
	if f.info, err = touch(path); err != nil {
		return err
	}
	if f.writing, err = f.pool(1); err != nil {
		return err
	}
	if f.conn, err = f.writing.Conn(f.ctx); err != nil {
		return err
	}
	defer func() { _ = f.close() }()
	return f.explain(f.migrate(steps))
}

// Migrations are all of them.
var Migrations = migrations

// Explain returns what the errors of a file at path are reported as.
func Explain(path string, err error) error { return (&file{path: path}).explain(err) }

// AlwaysAsk has Begin ask the file for each item.
func (j *Journal) AlwaysAsk() {
	j.fresh.mu.Lock()
	defer j.fresh.mu.Unlock()
	j.fresh.off = true
}

// IsNew reports whether Begin would not ask the file for k, which it then takes for begun.
func (j *Journal) IsNew(k journal.Key, at time.Time) bool {
	_, isNew := j.fresh.begins(k, at)
	return isNew
}

// LeaseTime is how long a claim lasts.
const LeaseTime = leaseTime
