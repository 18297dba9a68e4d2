// Package examples_test runs the example programs and compares what they print.
package examples_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExamples(t *testing.T) {
	for _, name := range []string{"map", "handler", "batchofflows", "branches", "stream", "detector", "sharedlimiter", "registry"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
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
