package run

import (
	"bytes"
	"encoding/hex"
	"strings"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
)

// leastSecret is the minimum length of a secret, in bytes. Anything shorter is a word such as "none" or "ollama", for a
// service that accepts any key. Removing it from responses would damage them.
const leastSecret = 8

// scrubber removes secrets from texts that the server sends.
type scrubber []secret

type secret []byte

func (s *scrubber) add(text string) {
	if len(text) >= leastSecret {
		*s = append(*s, secret(text))
	}
}

// header adds the secrets in the value of a header.
func (s *scrubber) header(name, value string) {
	if !settings.Secretive(name) {
		return
	}
	s.add(value)
	if _, rest, ok := strings.Cut(value, " "); ok { // after Bearer or Basic
		s.add(rest)
	}
}

// clean returns text without the secrets, in plain form and as JSON or a URL may escape them.
func (s *scrubber) clean(text []byte) []byte {
	for _, one := range *s {
		text = one.cleaned(text)
	}
	return text
}

func (s secret) cleaned(text []byte) []byte {
	var kept []byte // of what is before from
	from := 0
	for at := 0; at < len(text); at++ {
		if c := text[at]; c != s[0] && c != '\\' && c != '%' {
			continue
		}
		if n := s.begins(text[at:]); n > 0 {
			kept = append(append(kept, text[from:at]...), redacted...)
			from, at = at+n, at+n-1
		}
	}
	if from == 0 {
		return text
	}
	return append(kept, text[from:]...)
}

// begins returns how many bytes at the start of text spell s; 0 if it does not begin with s.
func (s secret) begins(text []byte) (n int) {
	if bytes.HasPrefix(text, s) {
		return len(s)
	}
	for _, c := range s {
		switch rest := text[n:]; {
		case bytes.HasPrefix(rest, []byte(`\u00`)) && isHex(rest[4:], c):
			n += 6
		case bytes.HasPrefix(rest, []byte("%")) && isHex(rest[1:], c):
			n += 3
		case len(rest) > 1 && rest[0] == '\\' && rest[1] == c:
			n += 2
		case len(rest) > 0 && rest[0] == c:
			n++
		default:
			return 0
		}
	}
	return n
}

func isHex(text []byte, c byte) bool {
	var got [1]byte
	_, err := hex.Decode(got[:], text[:min(2, len(text))])
	return err == nil && len(text) > 1 && got[0] == c
}

const redacted = "REDACTED"
