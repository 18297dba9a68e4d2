package throttle

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// ParseKeyedLimits reads the limits of several keys, separated by semicolons:
//
//	ols: 4/s, 100/min; bioportal: 2/s; "http://localhost:8080": unlimited
//
// A key with a comma, semicolon, colon or quotation mark, or a space at either
// end, is quoted like a Go string. Each key has limits and comes once. Errors
// are those of ParseLimits.
func ParseKeyedLimits(s string) (map[string]Limits, error) {
	var r reading
	keyed := map[string]Limits{}
	if r.fits(s) {
		s = strings.TrimRightFunc(s, unicode.IsSpace)
		for at := 0; at < len(s) && !r.full(); {
			at = r.entry(s, at, keyed)
		}
	}
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return keyed, nil
}

// FormatKeyedLimits is the inverse of ParseKeyedLimits, sorted by key.
func FormatKeyedLimits(keyed map[string]Limits) string {
	var b strings.Builder
	for i, key := range slices.Sorted(maps.Keys(keyed)) {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(formatKey(key) + ": " + keyed[key].String())
	}
	return b.String()
}

// entry reads the key and the limits at an offset of s, and returns where the next begin.
func (r *reading) entry(s string, at int, keyed map[string]Limits) (next int) {
	key, colon, problem := parseKey(s[at:])
	begin := at + colon
	next = len(s)
	if n := strings.IndexByte(s[begin:], ';'); n >= 0 {
		next = begin + n
	}
	if _, twice := keyed[key]; twice && problem == "" {
		problem = "the key comes twice: write its limits in one place"
	}
	if problem != "" {
		trimmed := strings.TrimLeft(s[at:next], " \t\r\n")
		r.refuse(strings.TrimSpace(trimmed), next-len(trimmed), problem)
	} else {
		r.path = "[" + strconv.Quote(clip(key)) + "]."
		keyed[key] = r.limits(s[begin:next], begin)
	}
	return min(next+len(";"), len(s))
}

// parseKey reads the key that s begins with, and finds where its limits begin,
// or where the problem ends.
func parseKey(s string) (key string, limits int, problem string) {
	trimmed := strings.TrimSpace(s)
	if strings.HasPrefix(trimmed, `"`) {
		quoted, err := strconv.QuotedPrefix(trimmed)
		if err != nil {
			return "", len(s), "the closing quotation mark of the key is missing, or the key is not a string of Go"
		}
		key, _ = strconv.Unquote(quoted) // which QuotedPrefix has done already
		limits = strings.Index(s, quoted) + len(quoted)
	} else if limits = strings.IndexAny(s, ",;:\""); limits < 0 {
		limits = len(s)
	} else {
		key = strings.TrimSpace(s[:limits])
	}
	rest := strings.TrimSpace(s[limits:])
	if !strings.HasPrefix(rest, ":") {
		return "", limits, `a key and a colon are missing, as in "ols: 5/s"; ` +
			"write a comma between the limits of one key, and quote a key that holds a comma"
	}
	if key == "" && !strings.HasPrefix(trimmed, `"`) {
		return "", limits, `the key before the colon is missing; an empty one is written ""`
	}
	return key, limits + strings.IndexByte(s[limits:], ':') + 1, ""
}

func formatKey(key string) string {
	quoted := strconv.Quote(key)
	if key == "" || len(quoted) != len(key)+2 || strings.ContainsAny(key, ",;:") || strings.TrimSpace(key) != key {
		return quoted
	}
	return key
}
