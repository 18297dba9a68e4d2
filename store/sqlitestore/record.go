package sqlitestore

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/headrace/headrace/journal"
)

// columns is a record as it is in the file; all are NULL if it is not.
type columns struct {
	row, state, attempts, begun, ended, call, sum sql.NullInt64

	err, value []byte
}

const recordColumns = `r.id, r.state, r.attempts, r.begun, r.ended, r.error, r.value, r.call, r.sum`

func (c *columns) into() []any {
	return []any{&c.row, &c.state, &c.attempts, &c.begun, &c.ended, &c.err, &c.value, &c.call, &c.sum}
}

// check looks whether the columns are what was written of item i.
func (c *columns) check(i item) error {
	if c.row.Valid && c.sum.Int64 != int64(c.sumOf(i)) {
		return &sumError{of: fmt.Sprintf("item %q", i.content)}
	}
	return nil
}

func (c *columns) sumOf(i item) sum {
	return sum(0).numbers(i.part, i.occurrence, c.state.Int64, c.attempts.Int64, c.begun.Int64, c.ended.Int64, c.call.Int64).
		bytes([]byte(i.content), c.err, c.value)
}

// record returns the record of k, in a part with a mark of so many calls.
func (c *columns) record(k journal.Key, marked int64) journal.Record {
	r := journal.Record{
		Key: k, State: journal.State(c.state.Int64), //nolint:gosec // 0 to 3: nothing else is written
		Value: c.value, Err: string(c.err), Attempts: int(c.attempts.Int64), Behind: c.call.Int64 > marked,
	}
	if c.begun.Valid {
		r.Begun = timeOf(c.begun.Int64)
	}
	if c.ended.Valid {
		r.Ended = timeOf(c.ended.Int64)
	}
	return r
}

func number(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: true} }

// begunAt are the columns of a record that is Pending.
func begunAt(at int64, attempts int) *columns {
	return &columns{state: number(int64(journal.Pending)), attempts: number(int64(attempts)), begun: number(at), call: number(0)}
}

// finished are the columns of r, which began at begun and came with that call of Finish.
func finished(r *journal.Record, begun, call int64) *columns {
	return &columns{
		state: number(int64(r.State)), attempts: number(int64(r.Attempts)), begun: number(begun),
		ended: number(r.Ended.UnixMicro()), err: blob(r.Err), value: r.Value, call: number(call),
	}
}

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// blob is text that may hold anything; NULL if it is empty.
func blob(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}
