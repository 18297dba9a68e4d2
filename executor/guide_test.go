package executor_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The code in the guide is that of the examples, which are compiled and run.
func TestTheGuide(t *testing.T) {
	guide, err := os.ReadFile("../docs/executor.md")
	require.NoError(t, err)
	code, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	blocks := strings.Split(string(guide), "```go\n")[1:]
	require.Len(t, blocks, 5)
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		indented := "\t" + strings.ReplaceAll(strings.TrimSuffix(block, "\n"), "\n", "\n\t")
		assert.Contains(t, string(code), indented)
	}
}
