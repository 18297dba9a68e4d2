package dialect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/near"
)

// ByName returns the dialect of that name; case does not matter. The error is
// an *UnknownError.
func ByName(name string) (Name, error) {
	want := Name(strings.ToLower(strings.TrimSpace(name)))
	if want == Auto || tables.byName[want] != nil {
		return want, nil
	}
	return "", &UnknownError{Name: name, Near: near.Names(string(want), Names(), 3)}
}

// ByHost returns the dialect that a host speaks, with a port or without:
// OpenAI for "api.openai.com", and for any other host below openai.com. It is
// Auto if the host is not known.
func ByHost(host string) Name {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.Contains(host[i:], "]") {
		host = strings.TrimSuffix(host[:i], ".")
	}
	if s := tables.hosts.of(host); s != nil {
		return s.name
	}
	return Auto
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
		return fmt.Sprintf("dialect: %.80q is unknown: %q finds out from the answers who speaks", e.Name, Auto)
	}
	quoted := make([]string, len(e.Near))
	for i, n := range e.Near {
		quoted[i] = strconv.Quote(string(n))
	}
	return fmt.Sprintf("dialect: %.80q is unknown: did you mean %s?", e.Name, strings.Join(quoted, " or "))
}
