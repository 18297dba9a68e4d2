package console

import (
	"strconv"
	"strings"
)

// screen redraws a block of lines in place. It only makes the bytes. Between two
// frames the cursor is visible and stands in the first column below the block.
type screen struct {
	widths []int // of the lines that stand there, in cells
	width  int   // of the terminal when they were drawn
}

const (
	beginFrame = "\x1b[?2026h\x1b[?25l" // show it all at once, where that is known; hide the cursor
	endFrame   = "\x1b[?25h\x1b[?2026l"
	eraseLine  = "\x1b[K" // to its end
	eraseBelow = "\x1b[J"
)

// frame replaces the block by lines, which are narrower than width, and prints above,
// which is empty or ends with a line feed, over it.
func (s *screen) frame(above string, lines []string, width int) string {
	var b strings.Builder
	b.WriteString(beginFrame + "\r")
	if up := s.rows(width); up > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(up) + "A")
	}
	if above != "" || width != s.width {
		b.WriteString(eraseBelow)
		b.WriteString(above)
	}
	s.widths, s.width = s.widths[:0], width
	for _, line := range lines {
		b.WriteString(line + eraseLine + "\r\n")
		s.widths = append(s.widths, visible(line))
	}
	b.WriteString(eraseBelow + endFrame)
	return b.String()
}

// rows is how many rows the block takes on a terminal of that width. Most terminals wrap
// what stands there when they become narrower.
func (s *screen) rows(width int) int {
	n := 0
	for _, w := range s.widths {
		n += max(1, (w+width-1)/width)
	}
	return n
}

// leave makes the block text like any other: the next frame is drawn below it.
func (s *screen) leave() { s.widths = s.widths[:0] }

// visible is the width of a line with colours.
func visible(line string) int {
	w := 0
	for {
		before, after, found := strings.Cut(line, "\x1b[")
		w += widthOf(before)
		if !found {
			return w
		}
		_, line, _ = strings.Cut(after, "m")
	}
}
