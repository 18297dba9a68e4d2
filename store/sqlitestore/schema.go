package sqlitestore

import (
	"errors"
	"fmt"
)

// applicationID marks the file as one of headrace, https://www.sqlite.org/pragma.html#pragma_application_id.
const applicationID = 0x68726163 // "hrac"

// migrations[i] takes the schema from version i to i+1. One that was released is never changed.
var migrations = []string{ //nolint:gochecknoglobals // a constant but for its type
	// A part with a run of NULL was forgotten, and its records are being deleted.
	// AUTOINCREMENT: the id of a part is never that of another one, also after it was deleted.
	// pending, done and failed count the records, and bytes those of the values of what is done.
	// calls counts the calls of Finish; marked is what it was when mark was given, and behind
	// counts the records with a later call. owner to renewed are the lease, empty and 0 without one.
	// sum is the CRC-32C of all that is in the row. Texts that may be anything are blobs; so is
	// what a limiter has learned. Times are microseconds since 1970.
	`CREATE TABLE parts (
		id      INTEGER PRIMARY KEY AUTOINCREMENT,
		run     TEXT,
		node    TEXT,
		version BLOB NOT NULL,
		mark    BLOB,
		pending INTEGER NOT NULL DEFAULT 0,
		done    INTEGER NOT NULL DEFAULT 0,
		failed  INTEGER NOT NULL DEFAULT 0,
		bytes   INTEGER NOT NULL DEFAULT 0,
		opened  INTEGER NOT NULL,
		changed INTEGER NOT NULL,
		calls   INTEGER NOT NULL DEFAULT 0,
		marked  INTEGER NOT NULL DEFAULT 0,
		behind  INTEGER NOT NULL DEFAULT 0,
		owner   BLOB,
		host    BLOB,
		pid     INTEGER NOT NULL DEFAULT 0,
		process BLOB,
		since   INTEGER NOT NULL DEFAULT 0,
		renewed INTEGER NOT NULL DEFAULT 0,
		sum     INTEGER NOT NULL,
		UNIQUE (run, node)
	) STRICT;
	CREATE TABLE records (
		id         INTEGER PRIMARY KEY,
		part       INTEGER NOT NULL REFERENCES parts,
		content    TEXT NOT NULL,
		occurrence INTEGER NOT NULL,
		state      INTEGER NOT NULL CHECK (state IN (1, 2, 3)),
		attempts   INTEGER NOT NULL,
		begun      INTEGER NOT NULL,
		ended      INTEGER,
		error      BLOB,
		value      BLOB,
		call       INTEGER NOT NULL,
		sum        INTEGER NOT NULL,
		UNIQUE (part, content, occurrence)
	) STRICT;
	CREATE TABLE laws (
		limiter BLOB PRIMARY KEY,
		state   BLOB,
		at      INTEGER NOT NULL,
		sum     INTEGER NOT NULL
	) STRICT, WITHOUT ROWID;`,

	// state is what package meter counts of a key, with a version and a checksum of its own.
	// The row with the empty key is the clock of all of them: see quotaClock.
	`CREATE TABLE quotas (
		key   BLOB PRIMARY KEY,
		state BLOB NOT NULL
	) STRICT, WITHOUT ROWID;`,
}

// schema[i] fails in a file that has the version i+1 and not its columns.
var schema = []string{ //nolint:gochecknoglobals // a constant but for its type
	`SELECT ` + partColumns + ` FROM parts LIMIT 0; SELECT ` + recordColumns + ` FROM records r LIMIT 0`,
	`SELECT key, state FROM quotas LIMIT 0`,
}

// migrate brings the file to the latest version, or changes nothing.
func (f *file) migrate(steps []string) error {
	if err := f.patiently(func() error { _, err := f.inspect(len(steps)); return err }); err != nil {
		return err
	}
	if err := f.patiently(f.useWAL); err != nil {
		return err
	}
	if err := f.patiently(func() error { return f.exec("BEGIN IMMEDIATE") }); err != nil {
		return err
	}
	err := f.step(steps)
	if err == nil {
		err = f.exec("COMMIT")
	}
	if err != nil {
		_ = f.exec("ROLLBACK")
	}
	return err
}

// step runs within a transaction, which keeps other processes from changing the version.
func (f *file) step(steps []string) error {
	version, err := f.inspect(len(steps))
	if err != nil || version == len(steps) {
		return err
	}
	for i, step := range steps[version:] {
		if err := f.exec(step); err != nil {
			return fmt.Errorf("migration to version %d: %w", version+i+1, err)
		}
	}
	return f.exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(steps)))
}

// One statement sees one state of the file, with and without a write-ahead log, also while another process creates it.
const readHeader = `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
	FROM pragma_application_id, pragma_user_version`

// inspect looks at a file before anything in it is changed, and returns the version of its schema.
func (f *file) inspect(known int) (version int, err error) {
	var id, tables int
	err = f.conn.QueryRowContext(f.ctx, readHeader).Scan(&id, &version, &tables)
	switch {
	case err != nil:
		return 0, err
	case id == 0 && version == 0 && tables == 0: // new
		return 0, nil
	case id != applicationID:
		return 0, &FileError{Path: f.path, Reason: ErrForeign, Err: fmt.Errorf("application id %#x, %d tables and indexes", id, tables)}
	case version > known:
		return 0, &NewerError{Path: f.path, Found: version, Known: known}
	}
	for _, columns := range schema[:min(version, len(schema))] {
		if err := f.exec(columns); err != nil {
			return version, err
		}
	}
	return version, nil
}

// useWAL lets reading and writing go on at once. The pragma of auto_vacuum does
// something only in a file that is still empty, and before the one of journal_mode.
func (f *file) useWAL() error {
	if err := f.exec("PRAGMA auto_vacuum = incremental"); err != nil {
		return err
	}
	var mode string
	if err := f.conn.QueryRowContext(f.ctx, "PRAGMA journal_mode = wal").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system has no shared memory for a write-ahead log: journal mode %s", mode)
	}
	return f.exec("PRAGMA synchronous = full")
}

// checkParts compares the table of parts with its index: a part that cannot be
// found any more would be paid for again. It is small; records have their sums.
func (f *file) checkParts() error {
	var says string
	if err := f.conn.QueryRowContext(f.ctx, "PRAGMA integrity_check(parts)").Scan(&says); err != nil || says == "ok" {
		return err
	}
	return &FileError{Path: f.path, Reason: ErrDamaged, Err: errors.New(says)}
}

func (f *file) exec(statements string) error {
	_, err := f.conn.ExecContext(f.ctx, statements)
	return err
}
