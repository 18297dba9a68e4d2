package rest

import (
	"strings"
	"unicode/utf8"
)

// scan reads a check that is written as most are: an object with names as documented, texts without escapes, numbers
// without a sign, a fraction or an exponent, and no metadata. It reports false, and changes nothing, for any other,
// which is left to encoding/json. The texts are parts of s.
func (c *checkIn) scan(s string) bool {
	var out checkIn
	p := plain{s, true}
	p.take('{')
	for more := p.ok; more; more = p.after(',') {
		name := p.text()
		p.take(':')
		switch name {
		case "scope":
			out.Scope = p.text()
		case "identifier":
			out.Identifier = p.text()
		case "resource":
			out.Resource = p.text()
		case "tokens":
			out.Tokens = new(p.number())
		case "dry_run":
			out.DryRun = p.truth()
		default:
			return false
		}
	}
	p.take('}')
	p.space()
	if !p.ok || p.rest != "" {
		return false
	}
	*c = out
	return true
}

// plain reads JSON from left to right.
type plain struct {
	rest string
	ok   bool // all was as expected
}

func (p *plain) space() {
	for p.rest != "" && (p.rest[0] == ' ' || p.rest[0] == '\t' || p.rest[0] == '\r' || p.rest[0] == '\n') {
		p.rest = p.rest[1:]
	}
}

// after reports whether c comes next, and takes it.
func (p *plain) after(c byte) bool {
	p.space()
	if !p.ok || p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *plain) take(c byte) { p.ok = p.after(c) }

func (p *plain) text() string {
	p.take('"')
	for i := 0; p.ok && i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			text := p.rest[:i]
			p.rest, p.ok = p.rest[i+1:], utf8.ValidString(text)
			return text
		case c < ' ' || c == '\\':
			p.ok = false
		}
	}
	p.ok = false
	return ""
}

func (p *plain) number() (n int64) {
	const digits = 9
	p.space()
	i := 0
	for ; i < len(p.rest) && i <= digits && '0' <= p.rest[i] && p.rest[i] <= '9'; i++ {
		n = 10*n + int64(p.rest[i]-'0')
	}
	p.ok = p.ok && i > 0 && i <= digits && (i == 1 || p.rest[0] != '0')
	p.rest = p.rest[i:]
	return n
}

func (p *plain) truth() bool {
	p.space()
	if rest, ok := strings.CutPrefix(p.rest, "true"); ok {
		p.rest = rest
		return true
	}
	var no bool
	p.rest, no = strings.CutPrefix(p.rest, "false")
	p.ok = p.ok && no
	return false
}
