package sqlitestore

import (
	"database/sql"
	"time"

	"github.com/headrace/headrace/journal"
)

// columns is a record as it is in the file; all are NULL if it is not.
type columns struct {
	state, attempts, begun, ended sql.NullInt64
	err, value                    []byte
}

func (c *columns) into() []any {
	return []any{&c.state, &c.attempts, &c.begun, &c.ended, &c.err, &c.value}
}

func (c *columns) record(k journal.Key) journal.Record {
	r := journal.Record{
		Key: k, State: journal.State(c.state.Int64), //nolint:gosec // 0 to 3: the schema checks it
		Value: c.value, Err: string(c.err), Attempts: int(c.attempts.Int64),
	}
	if c.begun.Valid {
		r.Begun = timeOf(c.begun.Int64)
	}
	if c.ended.Valid {
		r.Ended = timeOf(c.ended.Int64)
	}
	return r
}

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// blob is text that may hold anything; NULL if it is empty.
func blob(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}
