package registry

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/headrace/headrace/internal/document"

	"github.com/headrace/headrace/internal/invalid"
)

const (
	defaultName = "default" // the template of all names, and the guard of callers that name nothing
	anyName     = "*"       // the last part of a template
	emptyPart   = "(empty)"
	longestName = 256
)

// keyOf is the one spelling of a name.
func keyOf(name string) string {
	if !strings.Contains(name, "/") {
		return partOf(name)
	}
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = partOf(part)
	}
	return strings.Join(parts, "/")
}

// partOf is the one spelling of a part of a name. The dot of the root that a
// host may end in is not part of it.
func partOf(part string) string {
	return strings.TrimSuffix(strings.ToLower(strings.TrimSpace(part)), ".")
}

// pathOf returns the parts of a name that callers ask for. A single argument is
// a whole name; of several, each is one part, whatever slashes it has. An empty
// part, such as the ID of a user that is missing, is a part like any other, so
// it does not lead around the limits of the template. In a whole name it stays
// empty, because the name may be a URL.
func pathOf(given []string) []string {
	empty := emptyPart
	if len(given) == 1 && strings.Contains(given[0], "/") {
		given, empty = strings.Split(given[0], "/"), ""
	}
	parts := make([]string, 0, len(given))
	for _, part := range given {
		switch part = tidy(partOf(part)); {
		case part != "":
			parts = append(parts, part)
		case len(parts) > 0:
			parts = append(parts, empty)
		}
	}
	return parts
}

// nameProblem is what is wrong with the key of a guard; empty: nothing.
func nameProblem(key string) string {
	parts := strings.Split(key, "/")
	switch {
	case key == "":
		return `the name is empty: write one such as "openai"`
	case len(key) > longestName:
		return "the name is longer than 256 bytes"
	case strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "the name holds a character that cannot be printed"
	case key == defaultName:
		return "the name is that of the template for all names: set default, or take another name"
	case key == anyName:
		return "a template has a name before a slash, such as crawl/*: for all names set default"
	case parts[0] == "" || parts[len(parts)-1] == "":
		return "the name begins or ends with a slash: write a part before and after it, such as crawl/example.org"
	}
	for i, part := range parts {
		switch {
		case part == anyName && i == len(parts)-1:
			return "the name is that of a template: set it in the Config, or name a guard"
		case part == anyName:
			return "only the last part of a name can be *"
		case strings.Contains(part, anyName):
			return "* is a part of its own, as in crawl/*"
		case i == 0 && part == defaultName:
			return "default is the template of all names, and no name is within it: take another name, such as crawl/*"
		}
	}
	return ""
}

// checked is the key for a guard of that name.
func checked(name string) (string, error) {
	key := keyOf(name)
	p := invalid.Problems{Owner: owner}
	if problem := nameProblem(key); problem != "" {
		p.Addf("Name", "%s: %s", quoted(name), problem)
	}
	return key, p.Err()
}

// tidy makes a part printable and not too long: it may come from anywhere, such
// as a URL.
func tidy(part string) string {
	part = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, part)
	if len(part) > longestName {
		part = strings.ToValidUTF8(part[:longestName], "")
	}
	return part
}

func quoted(s string) string { return strconv.Quote(document.Clip(s)) }
