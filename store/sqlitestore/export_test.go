package sqlitestore

import (
	"context"
	"time"
)

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
