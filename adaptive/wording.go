package adaptive

import (
	"reflect"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/quota"
)

// judgeText is the last resort, for errors that are nothing but text. Only the
// innermost ones count: what wraps them may carry any name, that of a node
// called "the rate limited API" too.
func judgeText(err error) Feedback {
	f := Feedback{Err: err}
	walk(err, func(e error) {
		if f.Verdict == Unclassified && plain(e) {
			f.Verdict = verdictOf(textOf(e))
		}
	})
	if f.Verdict != Unclassified {
		f.Source = "text"
	}
	return f
}

// plain reports whether err wraps nothing and its text may be the provider's: not
// this module's, nor that of a typed error of the standard library, in which a
// file called ratelimit.csv is a name.
func plain(err error) bool {
	if len(inside(err)) > 0 {
		return false
	}
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	pkg := t.PkgPath()
	root, _, _ := strings.Cut(pkg, "/")
	switch {
	case pkg == "errors", strings.HasSuffix(pkg, "_test"):
		return true
	case pkg == module, strings.HasPrefix(pkg, module+"/"):
		return false
	default:
		return !slices.Contains(strings.Fields(standard), root)
	}
}

const module = "github.com/headrace/headrace"

// standard lists the first parts of paths in the standard library that have
// types which are errors, or which hold names.
const standard = "archive bufio bytes compress context crypto database debug encoding fmt go html image internal io " +
	"log math mime net os path plugin reflect regexp runtime strconv strings sync syscall testing text time unicode"

// verdictOf judges a text in lower case by whole words and outside of quotes.
func verdictOf(text string) Verdict {
	said := wordsOf(text)
	switch {
	case said.any(quota.Codes), said.phrase("credit balance is too low"):
		return Terminal
	case said.any(refusals), said.phrase("too many requests"), said.phrase("rate exceeded"), said.phrase("exceeded your current quota"), // Gemini says so of a minute's quota too
		said.phrase("rate limit"), said.phrase("rate limits"), said.phrase("rate limited"), said.phrase("rate limiting"),
		said.phrase("quota exceeded") && !said.phrase("disk quota exceeded"), said.status("429"):
		return Hit
	case said.any("overloaded_error"), said.status("529"):
		return Overloaded
	default:
		return Unclassified
	}
}

// refusals are words by which a refusal is known: codes of errors, and what
// becomes of the names of exceptions in lower case.
const refusals = "rate_limit rate_limit_error rate_limit_exceeded rate_limited ratelimit ratelimited ratelimiterror ratelimitexceeded " +
	"userratelimitexceeded too_many_requests toomanyrequests toomanyrequestsexception throttled throttlingexception resource_exhausted"
