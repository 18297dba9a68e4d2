package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestThePage(t *testing.T) {
	c := card{
		At: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Commit: "abc", Sizes: sizesOf(false), Machine: machine{2, "linux", "amd64", "go1.26.8"},
		Rows: []result{
			{
				ID: 1, What: "windows", Verdict: passed, Counts: counts{"calls": 9, "exceeded": 0}, Seconds: 61,
				Mutants: []mutantResult{{"a fault", passed, "TestA: 3 | 4"}},
			},
			{ID: 2, What: "others", Verdict: skipped, Why: "needs servers", Unproven: "kills."},
		},
	}
	assert.False(t, c.failed())
	dir := t.TempDir()
	require.NoError(t, c.write(dir))
	page, err := os.ReadFile(filepath.Join(dir, "scorecard.md"))
	require.NoError(t, err)
	for _, want := range []string{
		"Run of 2026-03-04, commit abc, sizes on every change, 2 cores, linux/amd64, go1.26.8: 1 rows passed, 0 failed, 1 skipped.",
		"| 1 | windows | passed | calls=9 exceeded=0 | 1m1s |",
		"| 2 | others | skipped | `needs servers` | 0s |",
		"| 1 | a fault | caught | `TestA: 3 / 4` |",
		"- Row 2: kills.",
	} {
		assert.Contains(t, string(page), want)
	}
	text, err := os.ReadFile(filepath.Join(dir, "scorecard.json"))
	require.NoError(t, err)
	var read card
	require.NoError(t, json.Unmarshal(text, &read))
	assert.Equal(t, c, read)

	c.Rows[1].Verdict = failed
	assert.True(t, c.failed())
}
