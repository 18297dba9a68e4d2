package console

import "strings"

// style is how a frame is drawn.
type style struct{ colour, ascii bool }

// The colours are of the first eight, which every terminal has and its user has chosen.
const (
	plain  = ""
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (s style) paint(sgr, text string) string {
	if !s.colour || sgr == plain || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

func (s style) tail() string {
	if s.ascii {
		return "..."
	}
	return "…"
}

// bar has two colours, and two characters for where there are none.
func (s style) bar(share float64, width int) string {
	full, rest := "█", "░"
	if s.ascii {
		full, rest = "#", "-"
	}
	n := int(min(1, max(0, share)) * float64(width))
	return s.paint(green, strings.Repeat(full, n)) + s.paint(dim, strings.Repeat(rest, width-n))
}

// part is a piece of a line: clean text in one colour.
type part struct {
	text string
	sgr  string
	drop int // those with the highest number go first when there is no room; 0 stays
}

const gap = "  "

// line puts parts next to each other, as many as fit into width cells; what is
// left then is cut.
func (s style) line(indent string, width int, parts ...part) string {
	kept := make([]part, 0, len(parts))
	for _, p := range parts {
		if p.text != "" {
			kept = append(kept, p)
		}
	}
	for measure(indent, kept) > width {
		worst := 0
		for i, p := range kept {
			if p.drop > 0 && p.drop >= kept[worst].drop {
				worst = i
			}
		}
		if len(kept) == 0 || kept[worst].drop == 0 {
			break
		}
		kept = append(kept[:worst], kept[worst+1:]...)
	}
	var b strings.Builder
	left := width
	put := func(sgr, text string) {
		text = cut(text, left, s.tail())
		left -= widthOf(text)
		b.WriteString(s.paint(sgr, text))
	}
	put(plain, indent)
	for i, p := range kept {
		if i > 0 {
			put(plain, cut(gap, left, ""))
		}
		put(p.sgr, p.text)
	}
	return b.String()
}

func measure(indent string, parts []part) int {
	w := widthOf(indent)
	for i, p := range parts {
		if i > 0 {
			w += len(gap)
		}
		w += widthOf(p.text)
	}
	return w
}

// pad fills text up to so many cells.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-widthOf(text)))
}
