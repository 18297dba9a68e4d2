// Package near finds what a misspelt name may have meant.
package near

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// longest is beyond any name that was meant, in bytes.
const longest = 200

// Names returns the candidates that name may have meant, at most so many, the
// nearest first and equals in the order given. Case does not matter. A candidate
// is near if
//
//   - it is name but for a few slips: letters that are missing, too many, changed
//     or swapped, about one in four;
//   - each word of name is near one of its words, in whatever order: aws/default
//     means aws-bedrock/default. Common other names of a provider count as its own;
//   - one of them is a part of the other once all but letters and digits is left out.
func Names[S ~string](name string, candidates []S, most int) []S {
	type scored struct {
		candidate S
		score     score
	}
	name = strings.ToLower(strings.TrimSpace(name))
	if len(name) > longest {
		return nil
	}
	asked := parse(name)
	var found []scored
	for _, c := range candidates {
		if s, ok := asked.compare(parse(strings.ToLower(string(c)))); ok {
			found = append(found, scored{c, s})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return a.score.compare(b.score) })
	var names []S
	for _, f := range found[:min(max(0, most), len(found))] {
		names = append(names, f.candidate)
	}
	return names
}

// score is lower for closer matches: first by the slips, then by the words of
// the candidate that were not asked for.
type score struct{ slips, more int }

func (s score) compare(t score) int {
	return cmp.Or(cmp.Compare(s.slips, t.slips), cmp.Compare(s.more, t.more))
}

// spelt is a name in lower case in all forms that are compared.
type spelt struct {
	name, squeezed string
	words          []string
}

func parse(name string) spelt {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return spelt{name, strings.Join(words, ""), words}
}

func (a *spelt) compare(c spelt) (best score, ok bool) {
	consider := func(s score, near bool) {
		if near && (!ok || s.compare(best) < 0) {
			best, ok = s, true
		}
	}
	slips := edits(a.name, c.name, tolerance(a.name))
	consider(score{slips, 0}, slips <= tolerance(a.name))
	consider(a.byWords(c.words))
	consider(score{1, len(c.words)}, within(a.squeezed, c.squeezed) || within(c.squeezed, a.squeezed))
	return best, ok
}

// within reports whether a is a part of b. Few letters are part of too much.
func within(a, b string) bool { return len(a) >= 4 && strings.Contains(b, a) }

// byWords finds a word for each that was asked for.
func (a *spelt) byWords(words []string) (s score, ok bool) {
	left := slices.Clone(words)
	for _, word := range a.words {
		word = provider(word)
		at, least := -1, tolerance(word)+1
		for i, w := range left {
			if n := edits(word, w, least-1); n < least {
				at, least = i, n
			}
		}
		if at < 0 {
			return s, false
		}
		s.slips += least
		left = slices.Delete(left, at, at+1)
	}
	s.more = len(left)
	return s, len(a.words) > 0
}

// provider returns the name of a provider in presets and dialects for one of its
// other names, and any other word unchanged.
func provider(word string) string {
	switch word {
	case "google", "vertex":
		return "gemini"
	case "hf":
		return "huggingface"
	case "claude":
		return "anthropic"
	case "grok":
		return "xai"
	default:
		return word
	}
}
