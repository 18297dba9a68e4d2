package dialect

import (
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/adaptive"
)

// rule judges one kind of answer. All that it names must hold; of code and
// text one is enough. The first rule that fits wins: a provider's own come
// first, then those that all have in common.
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
	if (r.code != "" || r.text != "") && !a.hasCode(r.code) && !a.says(r.text) {
		return false
	}
	return r.when == nil || r.when(a)
}

// hasCode reports whether one of the words is a code of the answer.
func (a *answer) hasCode(words string) bool {
	for word := range strings.FieldsSeq(words) {
		if slices.Contains(a.doc.codes, word) {
			return true
		}
	}
	return false
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
