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
	for _, file := range printed {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			var stdout, stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), "go", "run", "./"+name)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.NoError(t, cmd.Run(), "%s%s", &stdout, &stderr)
			require.Empty(t, stderr.String())
			require.Equal(t, string(want), stdout.String())
		})
	}
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
