package sqlitestore_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/store/sqlitestore"
)

// mounted is a small file system of the test's own.
func mounted(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Skip("this needs to mount a file system: ", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

// fillUp writes a file until there is no room left, and returns its name.
func fillUp(t *testing.T, dir string) (name string) {
	t.Helper()
	name = filepath.Join(dir, "filler")
	f, err := os.Create(name)
	require.NoError(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, f.Close())
	return name
}

func TestLimitsOnAFullFileSystem(t *testing.T) {
	dir := mounted(t)
	path := filepath.Join(dir, "quota.db")
	filler := fillUp(t, dir)
	_, err := sqlitestore.OpenQuota(path)
	wantReason(t, err, sqlitestore.ErrFull, path)
	require.NoError(t, os.Remove(filler))

	q := openQuota(t, path, nil)
	kept := took(t, q, slot("kept", 1))
	filler = fillUp(t, dir)
	_, err = q.Take(t.Context(), perHour("a", 1))
	for i := 0; err == nil && i < 1000; i++ { // what -wal has room for
		_, err = q.Take(t.Context(), perHour(strconv.Itoa(i), 1))
	}
	wantReason(t, err, sqlitestore.ErrFull, path)
	_, err = q.Take(t.Context(), slot("kept", 1))
	if err != nil {
		wantReason(t, err, sqlitestore.ErrFull, path)
	}
	require.NoError(t, os.Remove(filler))
	waits(t, q, slot("kept", 1))
	require.NoError(t, q.End(t.Context(), kept, nil))
	took(t, q, slot("kept", 1))
	took(t, q, perHour("b", 1))
	waits(t, q, perHour("b", 1))
}

func TestLimitsOnAReadOnlyFileSystem(t *testing.T) {
	dir := mounted(t)
	path := filepath.Join(dir, "quota.db")
	q, err := sqlitestore.OpenQuota(path)
	require.NoError(t, err)
	took(t, q, perHour("a", 1))
	require.NoError(t, q.Close())
	remount := func(flags uintptr) { require.NoError(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|flags, "")) }
	remount(syscall.MS_RDONLY)
	for _, name := range []string{path, filepath.Join(dir, "new.db")} {
		_, err = sqlitestore.OpenQuota(name)
		wantReason(t, err, sqlitestore.ErrReadOnly, name)
	}
	remount(0)
	waits(t, openQuota(t, path, nil), perHour("a", 1))
}
