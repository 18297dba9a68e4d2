package syncdir_test

import (
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/syncdir"
)

func TestSync(t *testing.T) {
	require.NoError(t, syncdir.Sync(t.TempDir()))
	if runtime.GOOS != "windows" {
		assert.ErrorIs(t, syncdir.Sync(filepath.Join(t.TempDir(), "none")), fs.ErrNotExist)
	}
}
