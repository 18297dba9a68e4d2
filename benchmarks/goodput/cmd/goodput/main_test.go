package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAShortRunLeavesThePageAlone(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(page, []byte("old"), 0o600))
	var out bytes.Buffer
	args := []string{"-seeds", "1", "-simulated", "0", "-warm-up", "0s", "-measured", "1s", "-scenario", "cap", "-only", "blind", "-o", page}
	require.NoError(t, run(t.Context(), args, &out))
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, "old", string(got))
	assert.Contains(t, out.String(), "| cap | headrace blind |")
}

func TestWrongArguments(t *testing.T) {
	require.Error(t, run(t.Context(), []string{"-measured", "0s"}, &bytes.Buffer{}))
	require.Error(t, run(t.Context(), []string{"-none"}, &bytes.Buffer{}))
}
