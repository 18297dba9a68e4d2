package registry

import (
	"fmt"
	"strings"
	"unicode"
)

// ExistsError is returned by Register for a name that is taken.
type ExistsError struct {
	Name string
}

// Error implements error.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("registry: the name %q is taken: Replace changes its guard in place, GetOrCreate shares it, "+
		"Remove frees the name", clip(e.Name))
}

// mostNear is how many names a question offers.
const mostNear = 2

// didYouMean is a question, or the other hint if there is nothing to ask about.
func didYouMean(candidates []string, otherwise string) string {
	if len(candidates) == 0 {
		return otherwise
	}
	return "did you mean " + strings.Join(candidates, " or ") + "?"
}

// ParseError is one problem of a configuration that was read from text.
type ParseError struct {
	File    string // empty if it was read from memory
	Line    int    // from 1
	Column  int    // in bytes, from 1
	Path    string // of the value, such as guards.ols.limits or guards["openai/eu"]; may be empty
	Problem string // what is wrong and what would be right
	Err     error  // the cause, such as a *throttle.ParseError; may be nil
}

// Error implements error.
func (e *ParseError) Error() string {
	place := fmt.Sprintf("%d:%d: ", e.Line, e.Column)
	if e.File != "" {
		place = e.File + ":" + place
	} else {
		place = "line " + place
	}
	if e.Path != "" {
		place += clip(e.Path) + ": "
	}
	return "registry: " + place + e.Problem
}

// Unwrap returns Err.
func (e *ParseError) Unwrap() error { return e.Err }

// path is keys as one text. A key that is not a plain word is in brackets.
func path(keys []string) string {
	var b strings.Builder
	for i, key := range keys {
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
