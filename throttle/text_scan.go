package throttle

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	endToken    tokenKind = iota // of the limit; its text is empty
	numberToken                  // -1_000.5e+06, well-formed or not
	wordToken                    // letters
	otherToken                   // any other character
)

type token struct {
	kind tokenKind
	text string
	at   int // its offset in the whole text
}

// is compares words without regard to case.
func (t token) is(word string) bool { return t.kind == wordToken && strings.EqualFold(t.text, word) }

// scanner cuts one limit into tokens and drops the space between them.
type scanner struct {
	rest string
	at   int
}

func (s *scanner) next() token {
	trimmed := strings.TrimLeftFunc(s.rest, unicode.IsSpace)
	s.at += len(s.rest) - len(trimmed)
	s.rest = trimmed
	kind, n := endToken, 0
	if s.rest != "" {
		kind, n = scanToken(s.rest)
	}
	t := token{kind, s.rest[:n], s.at}
	s.rest, s.at = s.rest[n:], s.at+n
	return t
}

func scanToken(s string) (kind tokenKind, length int) {
	if n := scanNumber(s); n > 0 {
		return numberToken, n
	}
	if n := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }); n > 0 {
		return wordToken, n
	} else if n < 0 {
		return wordToken, len(s)
	}
	_, n := utf8.DecodeRuneInString(s)
	return otherToken, n
}

// scanNumber is the length of the number that s begins with. An e belongs to
// it only if it is an exponent.
func scanNumber(s string) int {
	begin := 0
	if s[0] == '-' {
		begin = 1
	}
	n := begin
	for n < len(s) && (isDigit(s[n]) || n > begin && s[n] == '_' || s[n] == '.') {
		n++
	}
	if strings.Trim(s[begin:n], "._") == "" {
		return 0
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		e := n + 1
		if e < len(s) && (s[e] == '+' || s[e] == '-') {
			e++
		}
		for e < len(s) && isDigit(s[e]) {
			e++
			n = e
		}
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
