package guide

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// gap is the line of a block that stands for lines that were left out.
const gap = "..."

// block is a fenced block of a page.
type block struct {
	line       int // of its fence, from 1
	lang, from string
	lines      []string
}

// blocks lists the fenced blocks of a page.
func blocks(page string) (all []block) {
	origin := regexp.MustCompile(`^<!-- from: (\S+) -->$`)
	before, open := "", false
	for i, line := range strings.Split(page, "\n") {
		switch fence, isFence := strings.CutPrefix(line, "```"); {
		case isFence && !open:
			b := block{line: i + 1, lang: fence}
			if from := origin.FindStringSubmatch(before); from != nil {
				b.from = from[1]
			}
			all, open = append(all, b), true
		case isFence:
			open = false
		case open:
			all[len(all)-1].lines = append(all[len(all)-1].lines, line)
		}
		before = line
	}
	return all
}

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

// quoted returns nil if lines stand in source, in this order and without a gap
// other than those that are marked.
func quoted(source, lines []string) error {
	if len(lines) == 0 {
		return errors.New("the block is empty")
	}
	rest := source
	for len(lines) > 0 {
		n := 0
		for n < len(lines) && lines[n] != gap {
			n++
		}
		piece := lines[:n]
		lines = lines[min(n+1, len(lines)):]
		if len(piece) == 0 {
			continue
		}
		end := find(rest, piece)
		if end < 0 {
			return fmt.Errorf("these lines are not there:\n%s", strings.Join(piece, "\n"))
		}
		rest = rest[end:]
	}
	return nil
}

// find returns where piece ends in source, or -1. All of piece may be indented
// by the same number of tabs less than in source.
func find(source, piece []string) int {
	for i := range len(source) - len(piece) + 1 {
		indent, ok := strings.CutSuffix(source[i], piece[0])
		if !ok || strings.Trim(indent, "\t") != "" {
			continue
		}
		same := true
		for j, line := range piece {
			same = same && (source[i+j] == indent+line || line == "" && source[i+j] == "")
		}
		if same {
			return i + len(piece)
		}
	}
	return -1
}

func TestQuoted(t *testing.T) {
	source := "package x\n\nfunc f() {\n\ta()\n\n\tif b {\n\t\tc()\n\t}\n\td()\n}"
	for name, c := range map[string]struct {
		block string
		ok    bool
	}{
		"as it is":             {"func f() {\n\ta()\n", true},
		"indented less":        {"a()\n\nif b {\n\tc()\n}", true},
		"with a gap":           {"a()\n...\nd()", true},
		"a gap at its end":     {"a()\n...", true},
		"one name is another":  {"a()\n\nif b {\n\te()\n}", false},
		"a line is missing":    {"if b {\n}", false},
		"half a line":          {"f() {", false},
		"the wrong order":      {"d()\n...\na()", false},
		"the same line twice":  {"a()\n...\na()", false},
		"indented differently": {"if b {\nc()\n}", false},
		"more than there is":   {"d()\n}\n}", false},
		"nothing":              {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			err := quoted(strings.Split(source, "\n"), strings.Split(strings.TrimSuffix(c.block, "\n"), "\n"))
			require.Equal(t, c.ok, err == nil, "%v", err)
		})
	}
	require.Error(t, quoted(nil, nil))
}

func TestBlocks(t *testing.T) {
	page := "# A\n<!-- from: a.go -->\n```go\nx\n\ny\n```\n\n```sh\nz\n```\n<!-- from: b.go -->\n\n```go\n```\nend"
	require.Equal(t, []block{
		{line: 3, lang: "go", from: "a.go", lines: []string{"x", "", "y"}},
		{line: 9, lang: "sh", lines: []string{"z"}},
		{line: 14, lang: "go"},
	}, blocks(page))
	require.NotContains(t, prose(page), "x\n")
	require.Contains(t, prose(page), "\nend")
}
