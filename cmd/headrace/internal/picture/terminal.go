package picture

import (
	"strings"
	"unicode/utf8"

	"github.com/headrace/headrace/internal/svg"
)

const (
	inside  = 14.0 // the edge of a terminal
	row     = 19.0 // height
	cell    = 7.8  // width; set explicitly, because fonts differ
	columns = 97
)

func bold(s string) string { return "\x1b[1m" + s + "\x1b[0m" }

// terminal draws lines as a terminal shows them, and returns the position of its lower edge.
func (p *pen) terminal(y float64, lines []string) (end float64) {
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 {
		return y
	}
	end = y + 2*inside + row*float64(len(lines)) - 4
	p.Addf(`<rect class="term" x="%g" y="%s" width="%g" height="%s" rx="6"/>`+"\n", margin, svg.Short(y), width-2*margin, svg.Short(end-y))
	for i, line := range lines {
		at := y + inside + row*float64(i) + 11
		for _, s := range spans(line) {
			p.Addf(`<text class="t%s" x="%s" y="%s" textLength="%s" lengthAdjust="spacingAndGlyphs">%s</text>`,
				s.class, svg.Short(margin+inside+cell*float64(s.column)), svg.Short(at), svg.Short(cell*float64(utf8.RuneCountInString(s.text))), svg.Escape(s.text))
		}
		p.Addf("\n")
	}
	return end
}

// span is text in one colour, without two spaces in a row.
type span struct {
	column int
	class  string
	text   string
}

// spans splits a line by colour. The part that does not fit is cut off.
func spans(line string) (all []span) {
	column, class := 0, ""
	for i, part := range strings.Split(line, "\x1b[") {
		if i > 0 {
			var sgr string
			sgr, part, _ = strings.Cut(part, "m")
			class = map[string]string{"1": " b", "2": " dim", "31": " red", "32": " green", "33": " yellow"}[sgr]
		}
		for part != "" {
			word, rest, gap := strings.Cut(part, "  ")
			if n := utf8.RuneCountInString(word); column+n > columns {
				cut := max(0, columns-1-column)
				word, rest = string([]rune(word)[:cut])+"…", ""
			}
			trimmed := strings.TrimLeft(word, " ")
			if s := strings.TrimRight(trimmed, " "); s != "" {
				all = append(all, span{column + len(word) - len(trimmed), class, s})
			}
			if column += utf8.RuneCountInString(word); column >= columns {
				return all
			}
			if gap {
				column += 2
			}
			part = rest
		}
	}
	return all
}
