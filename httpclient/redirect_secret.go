package httpclient

import (
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
)

const (
	// minCarried is how long a credential is at least that is looked for in a Location.
	minCarried = 8
	// maxEscaped is how often something in a URL is escaped at most that is meant to be read.
	maxEscaped = 8
)

// carries reports whether u contains one of the secrets, however often escaped. It also reports true if u is escaped too often
// to check.
func carries(u *url.URL, secrets []string) bool {
	long := slices.DeleteFunc(slices.Clone(secrets), func(secret string) bool { return len(secret) < minCarried })
	if len(long) == 0 {
		return false
	}
	text := u.String()
	for range maxEscaped {
		plain := strings.ReplaceAll(text, "+", " ")
		if slices.ContainsFunc(long, func(secret string) bool { return strings.Contains(text, secret) || strings.Contains(plain, secret) }) {
			return true
		}
		next := unescape(text)
		if next == text {
			return false
		}
		text = next
	}
	return true
}

// unescape undoes percent escapes. A malformed one is left as it is, so that it does not hide the others.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if c, err := hex.DecodeString(text[i+1 : i+3]); err == nil {
				b.WriteByte(c[0])
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
