//go:build unix

package sqlitestore_test

import (
	"os"
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
