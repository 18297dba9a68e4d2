package console

import "strings"

// hanging is before each line that goes on.
const hanging = "  "

// fold breaks a line that is wider than width cells between words. A terminal would break it anywhere.
func fold(line string, width int) []string {
	if widthOf(line) < width {
		return []string{line}
	}
	var lines []string
	now, before := "", ""
	for word := range strings.SplitSeq(line, " ") {
		if before != "" && widthOf(now)+len(before)+widthOf(word) >= width { // the last cell stays free, as in a frame
			lines, now, before = append(lines, now), "", hanging
		}
		now, before = now+before+word, " "
	}
	return append(lines, now)
}
