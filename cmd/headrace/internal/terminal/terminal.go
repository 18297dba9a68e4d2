// Package terminal prints text from outside so that it cannot act on the terminal.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain returns text with an escape such as \u001b in place of each character that could move the cursor, change a title or
// turn the direction of writing. Ends of lines and tabs stay.
func Plain(text string) string {
	if strings.IndexFunc(text, acts) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1: // 0x9b alone begins a sequence where a terminal does not speak UTF-8
			fmt.Fprintf(&b, `\u%04x`, text[0])
		case !acts(r):
			b.WriteRune(r)
		case r <= 0xffff: // as JSON has it, so that a line of JSON stays one
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(utf8.RuneError)
		}
		text = text[n:]
	}
	return b.String()
}

// acts reports whether r is no text: a control character, or one of format, but for those that join letters.
func acts(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// Writer returns a writer that writes to w what is Plain. A text has to come whole.
func Writer(w io.Writer) io.Writer { return plain{w} }

type plain struct{ w io.Writer }

// Write implements io.Writer.
func (p plain) Write(text []byte) (int, error) {
	if _, err := io.WriteString(p.w, Plain(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
