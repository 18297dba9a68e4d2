package sqlitestore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/store/sqlitestore"
)

// typed fails the test unless err names the file and what is wrong with it.
func typed(t *testing.T, err error) {
	t.Helper()
	require.True(t, errors.As(err, new(*sqlitestore.FileError)) || errors.As(err, new(*sqlitestore.NewerError)) ||
		errors.As(err, new(*journal.VersionError)) || errors.As(err, new(*journal.HeldError)), "%T: %v", err, err)
}

// Of a file that was overwritten in places, cut or extended, each record is what
// was written, or an error.
func FuzzFile(f *testing.F) {
	var text []byte
	var want map[journal.Key]journal.Record
	f.Fuzz(func(t *testing.T, where, with []byte, cut uint16) {
		if text == nil {
			text, want = sound(t, 50)
		}
		damaged := append([]byte(nil), text...)
		for i := 0; i+1 < len(where) && len(with) > 0; i += 2 {
			at := (int(where[i])<<8 | int(where[i+1])) % len(damaged)
			damaged[at] ^= with[i/2%len(with)]
		}
		damaged = damaged[:len(damaged)-int(cut)%len(damaged)]
		if len(damaged) < 100 {
			damaged = with // anything but a journal
		}
		path := filepath.Join(t.TempDir(), "journal.db")
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		if len(damaged) == 0 {
			return // a new journal
		}
		if err := readAll(t, path, want); err != nil {
			typed(t, err)
		}
	})
}

// A value that was changed in a table, where SQLite finds nothing wrong with it,
// is an error.
func FuzzRow(f *testing.F) {
	columns := []string{
		"records.state", "records.attempts", "records.begun", "records.ended", "records.error", "records.value", "records.call", "records.sum",
		"records.content", "records.occurrence", "parts.run", "parts.node", "parts.version", "parts.mark", "parts.pending", "parts.done", "parts.failed",
		"parts.bytes", "parts.opened", "parts.changed", "parts.calls", "parts.marked", "parts.behind", "parts.owner", "parts.host", "parts.pid",
		"parts.process", "parts.since", "parts.renewed", "parts.sum", "laws.limiter", "laws.state", "laws.at", "laws.sum",
	}
	for i := range columns {
		f.Add(uint8(i), []byte("x"), int64(7))
	}
	var text []byte
	var want map[journal.Key]journal.Record
	f.Fuzz(func(t *testing.T, column uint8, bytes []byte, number int64) {
		if text == nil {
			text, want = sound(t, 50)
		}
		table, name, _ := strings.Cut(columns[int(column)%len(columns)], ".")
		path := filepath.Join(t.TempDir(), "journal.db")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		j, err := sqlitestore.OpenJournal(path)
		require.NoError(t, err)
		to := strconv.FormatInt(number, 10)
		switch name {
		case "error", "value", "version", "mark", "owner", "host", "process", "limiter":
			to = fmt.Sprintf("x'%x'", bytes)
		case "state":
			if table == "laws" {
				to = fmt.Sprintf("x'%x'", bytes)
			}
		case "content", "run", "node":
			to = fmt.Sprintf("CAST(x'%x' AS TEXT)", bytes)
		}
		one := map[string]string{"records": "content = 'item 7'", "parts": "TRUE", "laws": "TRUE"}[table]
		changed := j.ExecInWriter(t.Context(), fmt.Sprintf(
			"UPDATE %s SET %s = %s WHERE %s", table, name, to, one))
		require.NoError(t, j.Close())
		if changed != nil {
			return // the schema does not allow the value
		}
		if err := readAll(t, path, want); err != nil {
			typed(t, err)
		}
	})
}
