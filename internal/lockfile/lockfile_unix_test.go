//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package lockfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/lockfile"
)

func TestOneHolderAtATime(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	first, err := lockfile.Open(name)
	require.NoError(t, err)
	_, err = lockfile.Open(name)
	require.ErrorIs(t, err, lockfile.ErrHeld)
	require.NoError(t, first.Close())
	second, err := lockfile.Open(name)
	require.NoError(t, err)
	require.NoError(t, second.Close())
}

func TestAFileThatIsNoLongerAtItsName(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	f, err := lockfile.Open(name)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	there := func() bool {
		yes, err := lockfile.IsAt(f, name)
		require.NoError(t, err)
		return yes
	}
	assert.True(t, there())
	require.NoError(t, os.Remove(name))
	assert.False(t, there(), "removed")
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	assert.False(t, there(), "replaced")
	again, err := lockfile.Open(name)
	require.NoError(t, err, "the lock of the removed file is on nothing")
	require.NoError(t, again.Close())
}

func TestALinkIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	name, target := filepath.Join(dir, "lock"), filepath.Join(dir, "target")
	require.NoError(t, os.Symlink(target, name))
	_, err := lockfile.Open(name)
	require.Error(t, err)
	assert.NoFileExists(t, target)
}
