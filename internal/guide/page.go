package guide

import (
	"regexp"
	"strings"
)

// A Block is a fenced block of a page.
type Block struct {
	Line  int    // of its fence, from 1
	Lang  string // what stands behind the fence
	Mark  string // the first word of a comment on the line before: "from", "given", "not run", "output"
	Text  string // the rest of that comment
	Lines []string
}

// Blocks lists the fenced blocks of a page.
func Blocks(page string) (all []Block) {
	mark := regexp.MustCompile(`^<!-- (from|given|not run|output)(?:: (.+))? -->$`)
	before, open := "", false
	for i, line := range strings.Split(page, "\n") {
		switch fence, isFence := strings.CutPrefix(line, "```"); {
		case isFence && !open:
			b := Block{Line: i + 1, Lang: fence}
			if found := mark.FindStringSubmatch(before); found != nil {
				b.Mark, b.Text = found[1], found[2]
			}
			all, open = append(all, b), true
		case isFence:
			open = false
		case open:
			all[len(all)-1].Lines = append(all[len(all)-1].Lines, line)
		}
		before = line
	}
	return all
}
