package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/simulate/report"
)

func TestChart(t *testing.T) {
	var out, errs bytes.Buffer
	dir := t.TempDir()
	require.NoError(t, run([]string{"-chart", dir, "-only", "Vegas", "-scenario", "cap 20,flap"}, &out, &errs))
	one, two := filepath.Join(dir, "cap-20-netflix-vegas.svg"), filepath.Join(dir, "flap-netflix-vegas.svg")
	assert.Equal(t, one+"\n"+two+"\n", out.String())
	assert.FileExists(t, one)
	assert.FileExists(t, two)

	assert.Error(t, run([]string{"-chart", one, "-only", "Vegas", "-scenario", "cap 20"}, &out, &errs), "a file is no folder")
}

func TestInto(t *testing.T) {
	var out, errs bytes.Buffer
	page := filepath.Join(t.TempDir(), "page.md")
	into := []string{"-into", page, "-seeds", "1", "-only", "Vegas", "-scenario", "cap 20"}
	assert.ErrorIs(t, run(into, &out, &errs), os.ErrNotExist)

	require.NoError(t, os.WriteFile(page, []byte("nothing"), 0o600))
	assert.ErrorContains(t, run(into, &out, &errs), "no place")

	require.NoError(t, os.WriteFile(page, []byte("before\n"+report.FillFrom+report.FillTo+"after\n"), 0o600))
	require.NoError(t, run(into, &out, &errs))
	assert.Empty(t, out.String())
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(got), report.FillFrom+"\n1 seeds of each scenario that has a name.\n\n### The twelve: ")
	assert.Contains(t, string(got), "| cap 20 ")
	assert.Contains(t, string(got), "\n"+report.FillTo+"after\n")
}
