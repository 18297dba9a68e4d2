// Package terminal finds out what is a terminal, and prints untrusted text so that it cannot control it.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Is reports whether stream, such as standard input, is a terminal.
func Is(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Plain replaces each character that could move the cursor, change a title or reverse the direction of writing with
// an escape such as \u001b. Line ends and tabs are kept.
func Plain(text string) string {
	if strings.IndexFunc(text, acts) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1: // on a terminal without UTF-8, 0x9b alone begins a sequence
			fmt.Fprintf(&b, `\u%04x`, text[0])
		case !acts(r):
			b.WriteRune(r)
		case r <= 0xffff: // in JSON syntax, so that a line of JSON stays valid
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(utf8.RuneError)
		}
		text = text[n:]
	}
	return b.String()
}

// acts reports whether r is a control or format character. Characters that join letters are excepted.
func acts(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// Writer returns a writer that applies Plain to each text before it is written to w. Texts must not be split between writes.
func Writer(w io.Writer) io.Writer { return plain{w} }

type plain struct{ w io.Writer }

// Write implements io.Writer.
func (p plain) Write(text []byte) (int, error) {
	if _, err := io.WriteString(p.w, Plain(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
