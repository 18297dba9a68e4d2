package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain is a worker instead when a test has started it as one.
func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestWorkersThatAreKilledKeepTheLimit(t *testing.T) {
	for name, address := range map[string]string{"sqlite": "", "group": "group:" + filepath.Join(short(t), "g")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			require.NoError(t, run(t.Context(), []string{"-store", address, "-for", "3s", "-kills", "3"}, &out), out.String())
			assert.Regexp(t, `^4 workers share (sqlite|group): bucket 50/s burst 10
3 were killed and replaced in \d+\.\d s
provider's ledger: \d+ arrivals, \d+ admitted \(\d+ % of what is possible\), 0 refused with 429
any second: at most \d+ arrivals, 0 violations
$`, out.String())
		})
	}
}

// short returns a folder with a name that fits into the address of a socket.
func short(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "sq") //nolint:usetesting // that of a test has a long name
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	return folder
}

func TestFlags(t *testing.T) {
	var out bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, &out), flag.ErrHelp)
	assert.Contains(t, out.String(), "-store")
	require.ErrorContains(t, run(t.Context(), []string{"-workers", "0"}, &out), "must be positive")
	require.ErrorContains(t, run(t.Context(), []string{"-store", "nowhere", "-for", "1ms"}, &out), "exit status 1")

	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorIs(t, run(stopped, nil, &out), context.Canceled)
}
