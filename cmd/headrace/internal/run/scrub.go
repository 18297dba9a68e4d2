package run

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
)

// leastSecret is how long a secret is, in bytes. What is shorter is a word such as "none" or "ollama", for a
// service that wants any key: taking it out of the answers would damage them.
const leastSecret = 8

// scrubber takes secrets out of what the other side says.
type scrubber []secret

type secret struct {
	plain  []byte
	coded  *regexp.Regexp // as JSON or a URL may spell it
	simple bool           // neither has to escape any of it
}

func (s *scrubber) add(text string) {
	if len(text) < leastSecret {
		return
	}
	coded, simple := &strings.Builder{}, true
	for i := range len(text) {
		c := text[i]
		letter := c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		simple = simple && letter
		fmt.Fprintf(coded, `(?:%s|\\?%[1]s|\\u00(?i:%02x)|%%(?i:%02[2]x))`, regexp.QuoteMeta(string(rune(c))), c)
	}
	*s = append(*s, secret{[]byte(text), regexp.MustCompile(coded.String()), simple})
}

// header adds what a header that was given holds.
func (s *scrubber) header(name, value string) {
	if !settings.Secretive(name) {
		return
	}
	s.add(value)
	if _, rest, ok := strings.Cut(value, " "); ok { // behind Bearer or Basic
		s.add(rest)
	}
}

// clean returns text without them.
func (s *scrubber) clean(text []byte) []byte {
	for _, one := range *s {
		text = bytes.ReplaceAll(text, one.plain, []byte(redacted))
		if bytes.Contains(text, []byte(`\u00`)) || !one.simple && bytes.ContainsAny(text, `\%`) {
			text = one.coded.ReplaceAllLiteral(text, []byte(redacted))
		}
	}
	return text
}

const redacted = "REDACTED"
