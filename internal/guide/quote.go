package guide

import (
	"errors"
	"fmt"
	"strings"
)

// gap is the line of a block that stands for lines that were left out.
const gap = "..."

// Quoted returns nil if lines stand in source, in this order and without a gap
// other than those that are marked. What stands together may be indented by some
// tabs less than in source.
func Quoted(source, lines []string) error {
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
