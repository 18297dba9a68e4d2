package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
)

// tx is what runs within a transaction of the writer. Its statements are prepared once.
// A transaction ends soon, and is never left half done.
type tx struct {
	ctx        context.Context //nolint:containedctx // one that never ends
	conn       *sql.Conn
	statements map[string]*sql.Stmt
	parts      parts
}

func newTx(conn *sql.Conn) tx {
	return tx{ctx: context.Background(), conn: conn, statements: map[string]*sql.Stmt{}, parts: newParts()}
}

func (t *tx) prepared(query string) (*sql.Stmt, error) {
	if s, ok := t.statements[query]; ok {
		return s, nil
	}
	s, err := t.conn.PrepareContext(t.ctx, query)
	if err == nil {
		t.statements[query] = s
	}
	return s, err
}

// exec says how many rows the query changed.
func (t *tx) exec(query string, args ...any) (changed int64, err error) {
	s, err := t.prepared(query) //nolint:sqlclosecheck // it is kept; close closes it
	if err != nil {
		return 0, err
	}
	result, err := s.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row reads the row of the query, if there is one.
func (t *tx) row(into []any, query string, args ...any) (found bool, err error) {
	s, err := t.prepared(query) //nolint:sqlclosecheck // it is kept; close closes it
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(t.ctx, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (t *tx) close() error {
	var errs []error
	for _, s := range t.statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
