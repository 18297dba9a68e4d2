package dialect

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/adaptive"
)

// rule judges one kind of answer. All its conditions must hold, but of code and text only one. The first matching rule wins; a
// provider's own rules come before the common ones. Only the provider's own statement disables a key: in an answer with status
// 200 that is an event of a stream, while an object called error may be user data.
type rule struct {
	status []int              // any of these; empty: any error response
	code   string             // words, in lower case: one is a code of the answer
	text   string             // phrases in lower case, between bars: the message has one
	when   func(*answer) bool // nil: always

	verdict adaptive.Verdict
	kind    adaptive.Kind // UnknownKind: as the body and the headers say
	slow    bool          // the calls came in a ramp too steep
	wait    time.Duration // if the answer has none
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
