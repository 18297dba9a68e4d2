//go:build unix

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/command"
)

func TestReplaceKeepsTheModeAndTheLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("older"), []byte("older and longer"), 0o600))
	require.NoError(t, os.Symlink("older", at("link")))
	require.NoError(t, os.Symlink("later", at("dangling")))
	long := strings.Repeat("n", 250) // so that no name beside it is possible
	require.NoError(t, os.WriteFile(at(long), []byte("older and longer"), 0o600))
	for path, file := range map[string]string{"link": "older", "older": "older", "dangling": "later", "new": "new", long: long} {
		require.NoError(t, command.Replace(at(path), []byte("newer")), path)
		text, err := os.ReadFile(at(file))
		require.NoError(t, err)
		assert.Equal(t, "newer", string(text), path)
	}
	info, err := os.Stat(at("older"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	for _, link := range []string{"link", "dangling"} {
		info, err := os.Lstat(at(link))
		require.NoError(t, err)
		assert.Equal(t, os.ModeSymlink, info.Mode().Type(), link)
	}
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, all, 6, "no temporary file is left")
}

// A device is not replaced by a file.
func TestReplaceWritesToADevice(t *testing.T) {
	t.Parallel()
	require.NoError(t, command.Replace(os.DevNull, []byte("text")))
	info, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	assert.False(t, info.Mode().IsRegular())
	require.ErrorContains(t, command.Replace(filepath.Join(t.TempDir(), "none", "file"), nil), "none/file: no such file")
}
