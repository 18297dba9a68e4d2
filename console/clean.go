package console

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// mostText bounds a foreign text, in bytes.
const mostText = 1000

// clean makes one line of a foreign text: escape sequences and whatever else
// could move a cursor or turn the direction of writing are dropped.
func clean(s string) string {
	if len(s) > mostText {
		s = s[:mostText] + "…"
	}
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	var b strings.Builder
	g := displaywidth.Options{ControlSequences: true}.StringGraphemes(s)
	space := true // at the beginning too
	for g.Next() {
		cluster := g.Value()
		if cluster[0] == '\x1b' {
			continue
		}
		for _, r := range cluster {
			switch {
			case unicode.IsSpace(r):
				if !space {
					b.WriteByte(' ')
				}
				space = true
			case unicode.IsControl(r), unicode.Is(unicode.Cf, r) && r != zeroWidthJoiner:
			default:
				b.WriteRune(r)
				space = false
			}
		}
	}
	return alone(strings.TrimRight(b.String(), " "))
}

// alone drops what would join with the characters before or after s, such as an
// accent without a letter, so that widths add up.
func alone(s string) string {
	for s != "" && (widthOf(" "+s) != 1+widthOf(s) || widthOf(s+" ") != widthOf(s)+1) {
		g := displaywidth.StringGraphemes(s)
		g.Next()
		s = strings.TrimLeft(s[len(g.Value()):], " ")
	}
	return s
}

// zeroWidthJoiner holds together what is one emoji.
const zeroWidthJoiner = '\u200d'

func widthOf(s string) int { return displaywidth.String(s) }

// cut shortens a clean text to so many cells.
func cut(s string, width int, tail string) string {
	if widthOf(s) <= width {
		return s
	}
	if width < widthOf(tail) {
		tail = ""
	}
	return displaywidth.TruncateString(s, max(0, width), tail)
}
