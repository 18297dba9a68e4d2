package adaptive

import (
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/quota"
)

// spoken is the words of an error's text in their order, with an empty word where
// a sentence ends or a quotation stands. A quotation may be any text, such as the
// answer of a model: it counts only if it is a single word that is a code or the
// name of one.
type spoken []string

// wordsOf takes a text in lower case apart.
func wordsOf(text string) (all spoken) {
	for i := 0; i < len(text); {
		n := 1
		switch c := text[i]; {
		case wordByte(c):
			for i+n < len(text) && wordByte(text[i+n]) {
				n++
			}
			all = append(all, text[i:i+n])
		case c == '"' || c == '`' || c == '\'':
			var quoted string
			if n, quoted = quotation(text, i); n == 1 {
				break
			}
			if !slices.Contains(strings.Fields(quotable), quoted) {
				quoted = ""
			}
			all = append(all, quoted)
		case strings.IndexByte(".,;!?\n{}[]", c) >= 0:
			all = append(all, "")
		}
		i += n
	}
	return all
}

// quotable are the words that count in quotes: {"code": 429, "type": "rate_limit_error"}.
const quotable = "status code status_code statuscode overloaded_error " + quota.Codes + " " + refusals

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

// quotation returns the length of what is quoted from i on, its quotes included,
// and what it is. An apostrophe within a word quotes nothing; a quote that does
// not end quotes the rest.
func quotation(text string, i int) (n int, quoted string) {
	mark := text[i]
	single := mark == '\''
	if single && i > 0 && wordByte(text[i-1]) {
		return 1, ""
	}
	for end := i + 1; end < len(text); end++ {
		switch {
		case text[end] == '\\' && mark != '`':
			end++
		case text[end] == mark && (!single || end+1 == len(text) || !wordByte(text[end+1])):
			return end + 1 - i, text[i+1 : end]
		}
	}
	if single {
		return 1, ""
	}
	return len(text) - i, ""
}

// any reports whether one of these words, between spaces, is among w.
func (w spoken) any(of string) bool {
	for word := range strings.FieldsSeq(of) {
		if slices.Contains(w, word) {
			return true
		}
	}
	return false
}

// phrase reports whether the words of a phrase follow each other in w.
func (w spoken) phrase(phrase string) bool {
	want := strings.Fields(phrase)
	for i := 0; i+len(want) <= len(w); i++ {
		if slices.Equal(w[i:i+len(want)], want) {
			return true
		}
	}
	return false
}

// status reports whether a number is said to be the status: "status 429",
// "status code: 429", "HTTP 429", "HTTP/1.1 429", "error 429".
func (w spoken) status(number string) bool {
	for i, word := range w {
		if word != number || i == 0 {
			continue
		}
		switch before := w[i-1]; before {
		case "http", "status", "code", "status_code", "statuscode", "error":
			return true
		case "0", "1", "2", "3": // a version
			if from := max(0, i-4); slices.Contains(w[from:i], "http") {
				return true
			}
		}
	}
	return false
}
