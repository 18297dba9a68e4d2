package guide

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// prose is what a page has beside its blocks.
func prose(page string) string {
	var kept []string
	open := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			open = !open
		} else if !open {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func TestBlocks(t *testing.T) {
	page := "# A\n<!-- from: a.go -->\n```go\nx\n\ny\n```\n\n```sh\nz\n```\n<!-- from: b.go -->\n\n```go\n```\nend"
	require.Equal(t, []Block{
		{Line: 3, Lang: "go", Mark: "from", Text: "a.go", Lines: []string{"x", "", "y"}},
		{Line: 9, Lang: "sh", Lines: []string{"z"}},
		{Line: 14, Lang: "go"},
	}, Blocks(page))
	require.NotContains(t, prose(page), "x\n")
	require.Contains(t, prose(page), "\nend")
}
