// Package examples_test runs the example programs and compares what they print.
package examples_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each file in testdata is what the program of that name prints.
func TestExamples(t *testing.T) {
	printed, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(printed), 13)
	names := make([]string, len(printed))
	for i, file := range printed {
		names[i] = strings.TrimSuffix(filepath.Base(file), ".txt")
	}
	programs := build(t, names)
	for i, file := range printed {
		t.Run(names[i], func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			var stdout, stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), filepath.Join(programs, names[i]))
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.NoError(t, cmd.Run(), "%s%s", &stdout, &stderr)
			require.Empty(t, stderr.String())
			require.Equal(t, string(want), stdout.String())
		})
	}
}

// build links all programs at once, which is much faster than go run for each, and
// returns the folder where they are.
func build(t *testing.T, names []string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	var programs []string
	for _, name := range names {
		programs = append(programs, "./"+name)
	}
	args := append([]string{"build", "-ldflags=-s -w", "-o", folder}, programs...)
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)

	// What a test has looked at go test compares before it takes a result from its cache.
	list := []string{"list", "-deps", "-f", "{{if not .Standard}}{{.Dir}}{{end}}"}
	out, err = exec.CommandContext(t.Context(), "go", append(list, programs...)...).Output()
	require.NoError(t, err)
	for dir := range strings.Lines(string(out)) {
		_, err := os.ReadDir(strings.TrimSpace(dir))
		require.NoError(t, err)
	}
	return folder
}

func TestNoExampleIsWithoutATest(t *testing.T) {
	programs, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	for _, program := range programs {
		folder := filepath.Dir(program)
		if _, err := os.Stat(filepath.Join("testdata", folder+".txt")); err == nil {
			continue
		}
		tests, err := filepath.Glob(folder + "/*_test.go")
		require.NoError(t, err)
		assert.NotEmpty(t, tests, "%s has neither tests nor a file in testdata", folder)
	}
}
