package dialect

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/adaptive"
)

// rule judges one kind of answer. All that it names must hold; of code and
// text one is enough. The first rule that fits wins: a provider's own come
// first, then those that all have in common. A key is closed only by what the
// provider says itself: in an answer with status 200 that is an event of a
// stream, while an object called error may be somebody's data.
type rule struct {
	status []int              // any of these; none: any answer that says no
	code   string             // words, in lower case: one is a code of the answer
	text   string             // phrases in lower case, between bars: the message has one
	when   func(*answer) bool // nil: always

	verdict adaptive.Verdict
	kind    adaptive.Kind // UnknownKind: as the body and the headers tell
	slow    bool          // the calls came in a ramp too steep
	wait    time.Duration // if the answer does not tell one
}

// fits reports whether the rule judges a.
func (r *rule) fits(a *answer) bool {
	if len(r.status) > 0 && !slices.Contains(r.status, a.status) || len(r.status) == 0 && !a.refused() {
		return false
	}
	if r.verdict == adaptive.Terminal && a.status < http.StatusBadRequest && !a.doc.stream {
		return false
	}
	if (r.code != "" || r.text != "") && !has(&a.doc, r.code) && !a.says(r.text) {
		return false
	}
	return r.when == nil || r.when(a)
}

// has reports whether one of the words is a code of the answer.
func has(d *document, words string) bool {
	if len(d.codes) == 0 {
		return false
	}
	for word := range strings.FieldsSeq(words) {
		if slices.Contains(d.codes, word) {
			return true
		}
	}
	return false
}

// begins reports whether one of the texts begins with the phrase.
func (a *answer) begins(phrase string) bool {
	return strings.Contains("\n"+a.doc.message, "\n"+phrase)
}

// says reports whether the message has one of the phrases.
func (a *answer) says(phrases string) bool {
	if phrases == "" || a.doc.message == "" {
		return false
	}
	for phrase := range strings.SplitSeq(phrases, "|") {
		if strings.Contains(a.doc.message, phrase) {
			return true
		}
	}
	return false
}
