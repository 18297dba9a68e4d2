package guide

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// decision is how a design decision begins. The groups are its number, the file
// of the decision that supersedes or amends it, and its date.
var decision = regexp.MustCompile(`\A# (\d+)\. \S.*\n\n` +
	`- Status: (?:proposed|accepted|(?:accepted, amended by|superseded by) \[\d+\]\((\S+\.md)\))\n` +
	`- Date: (\d{4}-\d\d-\d\d)\n\n\S`)

func TestEachDecisionHasAStatusAndADate(t *testing.T) {
	folder := filepath.Join(root, "docs", "adr")
	files, err := filepath.Glob(filepath.Join(folder, "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := filepath.Base(file)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		head := decision.FindStringSubmatch(string(text))
		if !assert.NotNil(t, head, "%s does not begin with its number and title, and the lines of status and date", name) {
			continue
		}
		assert.Regexp(t, "^0*"+head[1]+"-", name, "the number of the title is not that of the file")
		if head[2] != "" {
			assert.FileExists(t, filepath.Join(folder, head[2]), "%s names it", name)
		}
		_, err = time.Parse(time.DateOnly, head[3])
		assert.NoError(t, err, name)
	}
}
