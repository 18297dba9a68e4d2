package sqlitestore

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// No statement of an item makes a table of its own, which costs more than all else that it does.
func TestNoStatementMakesATable(t *testing.T) {
	j, err := OpenJournal(filepath.Join(t.TempDir(), "journal.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, j.Close()) }()
	for _, query := range []string{insertRecord, writeRecord, readRecord, readItem, writePart} {
		codes := opcodes(t, j, query)
		assert.NotEmpty(t, codes)
		for _, not := range []string{"OpenEphemeral", "OpenAutoindex", "SorterOpen"} {
			assert.NotContains(t, codes, not, query)
		}
	}
}

// opcodes are the steps of a statement.
func opcodes(t *testing.T, j *Journal, query string) (codes []string) {
	t.Helper()
	rows, err := j.file.conn.QueryContext(t.Context(), "EXPLAIN "+query, make([]any, strings.Count(query, "?"))...)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var opcode string
		var other any
		require.NoError(t, rows.Scan(&other, &opcode, &other, &other, &other, &other, &other, &other))
		codes = append(codes, opcode)
	}
	require.NoError(t, rows.Err())
	return codes
}
