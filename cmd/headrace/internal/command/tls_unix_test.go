//go:build unix

package command_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/command"
)

// To read a named pipe again would wait for a writer, and hold up all connections.
func TestAKeyFromANamedPipeIsReadOnce(t *testing.T) {
	t.Parallel()
	own := newIdentity(t, "own")
	folder := t.TempDir()
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pipe")
	require.NoError(t, os.WriteFile(cert, own.cert, 0o600))
	require.NoError(t, syscall.Mkfifo(key, 0o600))
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(key, own.key, 0o600) }()
	var said bytes.Buffer
	config, err := command.TLS(cert, key, "", slog.New(slog.NewTextHandler(&said, nil)))
	require.NoError(t, err)
	require.NoError(t, <-written)
	for range 2 {
		name, err := greet(config, nil)
		require.NoError(t, err)
		assert.Equal(t, "own h2", name)
	}
}
