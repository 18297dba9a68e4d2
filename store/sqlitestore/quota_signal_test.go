//go:build unix

package sqlitestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/store/sqlitestore"
)

// lockTurn has the turn, as a process has that stopped.
func lockTurn(t *testing.T, path string) (release func()) {
	t.Helper()
	f, err := os.OpenFile(sqlitestore.TurnOf(path), os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	return func() { require.NoError(t, f.Close()) }
}

// stop stops the process wherever it is, and goOn lets it continue.
func (m *member) stop() { _ = m.cmd.Process.Signal(syscall.SIGSTOP) }
func (m *member) goOn() { _ = m.cmd.Process.Signal(syscall.SIGCONT) }

// findLock returns an error if no other process has SQLite's shared lock on the file at path, which one has while a
// connection is open. A process without other connections deletes the log if there is none.
func findLock(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	const sharedFirst, sharedSize = 0x40000002, 510 // https://www.sqlite.org/fileformat2.html#the_lock_byte_page
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Start: sharedFirst, Len: sharedSize}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &l); err != nil {
		return err
	}
	if l.Type == syscall.F_UNLCK {
		return errors.New("it is not locked")
	}
	return nil
}

// openWithoutDescriptors returns the error of OpenQuota in a process that can open no file.
func openWithoutDescriptors(path string) error {
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{}); err != nil {
		return err
	}
	_, err := sqlitestore.OpenQuota(path)
	return err
}

func TestAProcessWithTooManyOpenFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	require.NoError(t, openQuota(t, path, nil).Close())
	cmd := quotaChild(t, "descriptors", path)
	cmd.Stderr = nil
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "too many open files")
	require.NotContains(t, string(out), "cannot be written")
}
