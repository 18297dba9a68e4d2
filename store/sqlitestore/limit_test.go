//go:build unix

package sqlitestore_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/store/sqlitestore"
)

// A file that may not grow is a full disk to its user, and can be used on.
func TestALimitOfTheFileSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	cmd := child(t, path, "a", 100_000, 0)
	shell := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f 300; exec "$0"`, cmd.Path)
	shell.Env = cmd.Env
	var said bytes.Buffer
	shell.Stderr = &said
	require.Error(t, shell.Run())
	assert.Contains(t, said.String(), "sqlitestore: "+path+": "+sqlitestore.ErrFull.Error())

	j := opened(t, path)
	begin(t, j, "one more")
	_, err := j.Finish(t.Context(), part, owner, "", done("one more", "value"))
	require.NoError(t, err)
}
