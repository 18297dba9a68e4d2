package document

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// MostNear is how many names a question offers.
const MostNear = 2

// DidYouMean is a question, or the other hint if there is nothing to ask about.
func DidYouMean(candidates []string, otherwise string) string {
	if len(candidates) == 0 {
		return otherwise
	}
	return "did you mean " + strings.Join(candidates, " or ") + "?"
}

// Clip keeps a hostile text out of a log.
func Clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// Path is keys as one text. A key that is not a plain word is in brackets.
func Path(keys []string) string {
	var b strings.Builder
	for i, key := range keys {
		if _, ok := index(key); ok {
			b.WriteString(key)
			continue
		}
		plain := key != "" && !strings.ContainsFunc(key, func(r rune) bool {
			return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-$", r)
		})
		switch {
		case !plain:
			fmt.Fprintf(&b, "[%q]", key)
		case i > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

// Element is the key of an element of a list.
func Element(i int) string { return "[" + strconv.Itoa(i) + "]" }

// index returns the i of an Element.
func index(key string) (i int, ok bool) {
	if len(key) < len("[0]") || key[0] != '[' || key[len(key)-1] != ']' {
		return 0, false
	}
	i, err := strconv.Atoi(key[1 : len(key)-1])
	return i, err == nil && i >= 0
}
