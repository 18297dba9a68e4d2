package providertest

import (
	"slices"
	"strings"
	"unicode"
)

// extractWords bounds what Extract returns.
const extractWords = 24

// Extract is the default reply: the first sentence of the last user message, up to 24 words. It is
// deterministic.
func Extract(r Request) string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "user" {
			return extract(m.Content)
		}
	}
	return extract("")
}

func extract(text string) string {
	words := strings.Fields(firstSentence(strings.TrimSpace(text)))
	switch {
	case len(words) == 0:
		return "There is nothing to summarize."
	case len(words) > extractWords:
		return strings.Join(words[:extractWords], " ") + "..."
	}
	return strings.Join(words, " ")
}

// firstSentence returns text up to the first full stop, question or exclamation
// mark that ends a word, or all of it. The full stop of a title such as "Mr."
// ends nothing.
func firstSentence(text string) string {
	word, ended := 0, false // where the word begins; a mark came last
	for i, c := range text {
		if unicode.IsSpace(c) {
			if ended && !isTitle(text[word:i]) {
				return text[:i]
			}
			word = i + 1
		}
		ended = strings.ContainsRune(".!?", c)
	}
	return text
}

// isTitle reports whether a word is a capital, one or two small letters and a full stop.
func isTitle(word string) bool {
	return (len(word) == 3 || len(word) == 4) && unicode.IsUpper(rune(word[0])) && strings.HasSuffix(word, ".")
}
