package dialect

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// ByName returns the dialect of that name; case does not matter. The error is
// an *UnknownError.
func ByName(name string) (Name, error) {
	want := Name(strings.ToLower(strings.TrimSpace(name)))
	if want == Auto || tables.byName[want] != nil {
		return want, nil
	}
	return "", &UnknownError{Name: name, Near: near(string(want))}
}

// ByHost returns the dialect that a host speaks, with a port or without:
// OpenAI for "api.openai.com", and for any other host below openai.com. It is
// Auto if the host is not known.
func ByHost(host string) Name {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.Contains(host[i:], "]") {
		host = strings.TrimSuffix(host[:i], ".")
	}
	for _, s := range tables.speakers {
		if slices.ContainsFunc(s.hosts, func(h string) bool { return isHost(host, h) }) {
			return s.name
		}
	}
	return Auto
}

func isHost(host, pattern string) bool {
	if strings.Contains(pattern, "*") {
		ok, err := path.Match(pattern, host)
		return ok && err == nil
	}
	above, ok := strings.CutSuffix(host, pattern)
	return ok && (above == "" || strings.HasSuffix(above, "."))
}

// Names returns all dialects in alphabetical order.
func Names() []Name {
	all := []Name{Auto}
	for _, s := range tables.speakers {
		all = append(all, s.name)
	}
	slices.Sort(all)
	return all
}

// UnknownError says that a name is no dialect.
type UnknownError struct {
	Name string
	Near []Name // that it may have meant, the nearest first; nil: nothing is near
}

// Error names the dialects that may have been meant, or the one that needs no name.
func (e *UnknownError) Error() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("dialect: %q is unknown: %q finds out from the answers who speaks", e.Name, Auto)
	}
	quoted := make([]string, len(e.Near))
	for i, n := range e.Near {
		quoted[i] = strconv.Quote(string(n))
	}
	return fmt.Sprintf("dialect: %q is unknown: did you mean %s?", e.Name, strings.Join(quoted, " or "))
}

const mostNear = 3

// near returns the names that one may have meant: those that have it in them,
// or it in theirs, and those that a few letters make of it.
func near(name string) []Name {
	type scored struct {
		name  Name
		score int
	}
	var found []scored
	for _, n := range Names() {
		d := edits(name, string(n))
		if len(name) > 2 && (strings.Contains(string(n), name) || strings.Contains(name, string(n))) {
			d = 0
		}
		if d <= max(1, len(n)/3) {
			found = append(found, scored{n, d})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	var names []Name
	for _, f := range found[:min(mostNear, len(found))] {
		names = append(names, f.name)
	}
	return names
}

// edits is how many letters have to be added, left out or changed to make a of b.
func edits(a, b string) int {
	if len(a) > 2*len(b)+2 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}
