//go:build unix

package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// A second Ctrl-C ends it too where nobody reads what it says, as behind a pager.
func TestCtrlCWhileNobodyReads(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	read, full, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = read.Close(), full.Close() }()
	require.NoError(t, full.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
	_, err = full.Write(bytes.Repeat([]byte("x"), 4<<20))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)

	cmd := p.command("run", "-", "--out", "o.jsonl", "--base-url", p.provider.URL()+"/v1")
	cmd.Stdin, cmd.Stderr = strings.NewReader(request(0)), full
	require.NoError(t, cmd.Start())
	eventually(t, func() bool { // it hears by then
		_, err := os.Stat(p.path("o.jsonl.journal"))
		return err == nil
	})
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	eventually(t, func() bool { // until it is heard
		_ = cmd.Process.Signal(syscall.SIGINT)
		return len(ended) > 0
	})
	require.Error(t, <-ended)
	assert.Equal(t, 130, cmd.ProcessState.ExitCode())
}
