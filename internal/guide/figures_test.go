package guide

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The README's figures are those of the pages that they lead to, which are measured and written by make. Those of a
// single run are checked by TestFiguresAreThoseOfTheirRuns.
func TestFiguresOfTheREADMEStandOnTheirPages(t *testing.T) {
	all := pages(t)
	readme := all["README.md"]
	cited := regexp.MustCompile(`\]\((docs/[\w./-]+\.md)(?:#([\w-]+))?\)`)
	seen := 0
	for _, row := range rows(section(readme, "figures")) {
		var lines []string
		for _, link := range cited.FindAllStringSubmatch(row[0], -1) {
			lines = append(lines, strings.Split(section(all[link[1]], link[2]), "\n")...)
		}
		if len(lines) == 0 {
			assert.Regexp(t, runs, row[0], "it leads to no page and to no run")
			continue
		}
		for i, cell := range row[1:] {
			for claim := range strings.SplitSeq(cell, ";") {
				seen += len(numbers(claim))
				at := measured(lines, claim, i == 0)
				if assert.GreaterOrEqual(t, at, 0, "%s no row of the page says %q", row[0], claim) {
					lines = slices.Delete(lines, at, at+1) // each claim has a row of its own
				}
			}
		}
	}
	assert.GreaterOrEqual(t, seen, 18)
	proof := section(readme, "proof")
	assert.NotEmpty(t, numbers(proof))
	assert.Subset(t, numbers(section(readme, "figures")), numbers(proof), "the proof says what the figures do not")
}

// measured returns the row of a table that has all numbers of the claim, or -1. It
// is a row of headrace if the claim is about headrace, and of another project if it is not.
func measured(lines []string, claim string, ours bool) int {
	claimed := numbers(claim)
	return slices.IndexFunc(lines, func(line string) bool {
		is := strings.Contains(line, "headrace") || strings.Contains(line, "| transport |")
		have := numbers(line)
		missing := slices.ContainsFunc(claimed, func(n string) bool { return !slices.Contains(have, n) })
		return strings.HasPrefix(line, "|") && is == ours && !missing
	})
}

// numbers are the words of a text that are numbers: not those of 20/s, x64 or (0.4..0.6).
// A number per 1,000 counts as the percentage that it is.
func numbers(text string) (all []string) {
	text = regexp.MustCompile(`\b\d+ per 1,000\b`).ReplaceAllStringFunc(text, func(per string) string {
		tenths, _, _ := strings.Cut("0"+per, " ")
		whole := strings.TrimLeft(tenths[:len(tenths)-1], "0")
		return cmp.Or(whole, "0") + "." + tenths[len(tenths)-1:]
	})
	for word := range strings.FieldsSeq(text) {
		if word = strings.Trim(word, ",:"); regexp.MustCompile(`^\d[\d,]*(\.\d+)?$`).MatchString(word) {
			all = append(all, word)
		}
	}
	return all
}

// section is what stands under the heading of that anchor, up to the next one. The whole page has the anchor "".
func section(page, anchor string) string {
	var kept []string
	in := anchor == ""
	for line := range strings.SplitSeq(prose(page), "\n") {
		if strings.HasPrefix(line, "#") && anchor != "" {
			in = slices.Contains(anchors(line), anchor)
		}
		if in {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// rows are the cells of the tables of a text, without their heads.
func rows(text string) (all [][]string) {
	body := false
	for line := range strings.SplitSeq(text, "\n") {
		inside, isRow := strings.CutPrefix(line, "| ")
		switch {
		case strings.HasPrefix(line, "|---"):
			body = true
		case !strings.HasPrefix(line, "|"):
			body = false
		case isRow && body:
			all = append(all, strings.Split(strings.TrimSuffix(inside, "|"), "|"))
		}
	}
	return all
}

func TestMeasured(t *testing.T) {
	page := "# A\n\n## B\n\n|  | headrace | 0.66 (0.47..1.10) | 98.5 ± 1.7 |\n| peer | 1 | 57.4 |\n## C\n| headrace | 7 |\n"
	lines := strings.Split(section(page, "b"), "\n")
	assert.Equal(t, 2, measured(lines, "0.66, 98.5 % at 20/s", true))
	assert.Equal(t, 3, measured(lines, "peer: 57.4 %", false))
	assert.Equal(t, 7, measured(strings.Split(section(page, ""), "\n"), "7", true))
	for claim, ours := range map[string]bool{"0.47": true, "7": true, "57.4": true, "98.5": false, "1, 98.5": false, "0.67": true} {
		assert.Negative(t, measured(lines, claim, ours), claim)
	}
	assert.Equal(t, []string{"0.2", "57.4", "60.0", "98.5"}, numbers("2 per 1,000, 574 per 1,000, 600 per 1,000, 98.5 %"))
	assert.Equal(t, [][]string{{"a ", " b "}}, rows("| x | y |\n|---|---|\n| a | b |\n\n| c | d |"))
}
