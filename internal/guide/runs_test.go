package guide

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// runs are links to what a command printed, which make figures writes.
	runs = regexp.MustCompile(`\]\((?:docs/)?figures/([\w-]+)\.txt\)`)
	// written are links to pages that make writes.
	written = regexp.MustCompile(`\]\((?:docs/)?((?:benchmarks|goodput|adaptive)\.md)(?:#[\w-]+)?\)`)
	// figure is a number that was measured, such as 99.4 %, 1.30 x or 34.1 MB.
	figure = regexp.MustCompile(`(\d[\d,]*\.\d+)(?: ?(?:%|x\b|times\b|MB\b|KB\b|ms\b|µs\b|ns\b)|\b)`)
)

// Figures are not typed by hand: a paragraph that has one, or the paragraph above a table, leads to the run or the
// written page that has it, too.
func TestFiguresAreThoseOfTheirRuns(t *testing.T) {
	cited := map[string]bool{}
	all := pages(t)
	for page, text := range all {
		if strings.Contains(text, "and not by hand") {
			continue
		}
		for _, block := range paragraphs(unwritten(prose(text))) {
			var sources []string
			for _, link := range runs.FindAllStringSubmatch(block, -1) {
				cited[link[1]] = true
				sources = append(sources, run(t, link[1]))
			}
			for _, link := range written.FindAllStringSubmatch(block, -1) {
				sources = append(sources, all["docs/"+link[1]])
			}
			source := strings.Join(sources, "\n")
			for _, found := range figure.FindAllStringSubmatch(block, -1) {
				if source != "" || found[0] != found[1] { // without a unit it may be anything, such as a version
					assert.Contains(t, source, found[1], "%s: no run and no page that this leads to has the figure:\n%s", page, block)
				}
			}
		}
	}
	names, err := filepath.Glob(root + "/docs/figures/*")
	require.NoError(t, err)
	var there []string
	for _, name := range names {
		there = append(there, strings.TrimSuffix(filepath.Base(name), ".txt"))
	}
	assert.Equal(t, there, slices.Sorted(maps.Keys(cited)), "each run is there, and a page leads to it")
}

// run is what a command printed, without what stands above it.
func run(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "figures", name+".txt"))
	require.NoError(t, err)
	head, printed, _ := strings.Cut(string(text), "\n\n")
	assert.Regexp(t, `^\$ .+\n\d{4}-\d\d-\d\d, commit [0-9a-f]+, .*\b\d+ cores`, head, name)
	assert.NotContains(t, printed, "FAIL", name)
	return printed
}

// unwritten is a page without what make writes into it.
func unwritten(page string) string {
	return regexp.MustCompile(`(?s)<!-- figures: .*?<!-- end of figures -->`).ReplaceAllString(page, "")
}

// paragraphs are the blocks of a text, a table with the one above it.
func paragraphs(text string) (all []string) {
	for block := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(block, "|") && len(all) > 0 {
			all[len(all)-1] += "\n" + block
		} else {
			all = append(all, block)
		}
	}
	return all
}

func TestParagraphs(t *testing.T) {
	text := "# A\n\none\ntwo:\n\n| a |\n|---|\n\nthree\n\n<!-- figures: x -->\n4.5 %\n\n<!-- end of figures -->"
	assert.Equal(t, []string{"# A", "one\ntwo:\n| a |\n|---|", "three", ""}, paragraphs(unwritten(text)))
	assert.Equal(t, [][]string{{"99.4 %", "99.4"}, {"1.30 x", "1.30"}, {"1.26", "1.26"}}, figure.FindAllStringSubmatch("99.4 %, 1.30 x, Go 1.26, 5 %", -1))
}
