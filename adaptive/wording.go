package adaptive

import (
	"reflect"
	"slices"
	"strings"
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

// plain reports whether err wraps nothing and was worded by whoever knows the
// provider: not by this module, nor by the typed errors of the standard
// library, in which a file called ratelimit.csv is a name.
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

// standard lists the first parts of the paths in the standard library whose
// types are errors, or hold names.
const standard = "archive bufio bytes compress context crypto database debug encoding fmt go html image internal io " +
	"log math mime net os path plugin reflect regexp runtime strconv strings sync syscall testing text time unicode"

func verdictOf(text string) Verdict {
	contains := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
	}
	switch {
	case contains("insufficient_quota"):
		return Terminal
	case contains("too many requests", "rate limit", "rate_limit", "ratelimit", "status 429", "status code 429", "status: 429",
		"error 429", "resource_exhausted", "exceeded your current quota"): // Gemini says the last of a minute's quota too
		return Hit
	case contains("overloaded_error", "status 529", "status code 529"):
		return Overloaded
	default:
		return Unclassified
	}
}
