package command_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/command"
)

// dry is a dry run, which sends nothing, with the arguments and a file of --config.
func dry(t *testing.T, config string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	requests := filepath.Join(dir, "r.jsonl")
	require.NoError(t, os.WriteFile(requests, []byte(`{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m"}}`+"\n"), 0o600))
	file := filepath.Join(dir, "c.yaml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	var out, errs bytes.Buffer
	p := &command.Program{
		Args:   append([]string{"run", requests, "--config", file, "--dry-run", "--out", filepath.Join(dir, "o"), "--journal", filepath.Join(dir, "j"), "--errors", filepath.Join(dir, "e"), "--report", ""}, args...),
		Getenv: func(string) string { return "" }, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
	}
	return p.Main(t.Context()), out.String(), errs.String()
}

// A file of --config is used, or a mistake that is said in a few lines, without
// control characters.
func FuzzConfig(f *testing.F) {
	f.Fuzz(func(t *testing.T, config string) {
		checkRun(t, config)
	})
}

// Texts, numbers and times on the command line likewise.
func FuzzFlags(f *testing.F) {
	f.Fuzz(func(t *testing.T, limit, rpm, wait, header, base, preset string) {
		checkRun(t, "", "--limit="+limit, "--rpm="+rpm, "--max-wait="+wait, "--header="+header, "--base-url="+base, "--preset="+preset)
	})
}

func checkRun(t *testing.T, config string, args ...string) {
	t.Helper()
	status, _, said := dry(t, config, args...)
	require.Contains(t, []int{command.OK, command.Failed, command.Usage}, status, said)
	if status != command.OK {
		require.Contains(t, said, "headrace: ")
	}
	for _, r := range said {
		require.True(t, r >= ' ' && r != 0x7f || r == '\n' || r == '\t', "%q", said)
	}
}
