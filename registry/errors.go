package registry

import (
	"fmt"
	"strings"
	"unicode"
)

// ExistsError is a name that Register found taken.
type ExistsError struct {
	Name string
}

// Error names the ways out.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("registry: the name %q is taken: Replace changes its guard in place, GetOrCreate shares it, "+
		"Remove frees the name", clip(e.Name))
}

// UnknownError is a name that no guard has.
type UnknownError struct {
	Name string
	Near []string // that may have been meant, the nearest first; may be empty
}

// Error names what may have been meant.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("registry: no guard is named %q: %s", clip(e.Name), didYouMean(e.Near, "Names lists them all"))
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
	File    string   // empty: it was read from memory
	Line    int      // from 1
	Column  int      // in bytes, from 1
	Keys    []string // the way to the value, such as guards, ols, limits; empty: the whole text
	Problem string   // what is wrong and what would be right
	Err     error    // what says so, such as a *throttle.ParseError; may be nil
}

// Path is Keys as one text, such as guards.ols.limits. A key that is no plain
// word stands in brackets: guards["openai/eu"].
func (e *ParseError) Path() string { return path(e.Keys) }

// Error gives the place, the path and the problem.
func (e *ParseError) Error() string {
	place := fmt.Sprintf("%d:%d: ", e.Line, e.Column)
	if e.File != "" {
		place = e.File + ":" + place
	} else {
		place = "line " + place
	}
	if len(e.Keys) > 0 {
		place += clip(e.Path()) + ": "
	}
	return "registry: " + place + e.Problem
}

// Unwrap returns Err.
func (e *ParseError) Unwrap() error { return e.Err }

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
