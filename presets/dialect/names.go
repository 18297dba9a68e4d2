package dialect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/near"
)

// ByName returns the dialect of a name in any case. The error is an *UnknownError.
func ByName(name string) (Name, error) {
	want := Name(strings.ToLower(strings.TrimSpace(name)))
	if want == Auto || tables.byName[want] != nil {
		return want, nil
	}
	return "", &UnknownError{Name: name, Near: near.Names(string(want), Names(), 3)}
}

// ByHost returns the dialect of a host or its subdomains, with or without a port,
// such as OpenAI for "api.openai.com". An unknown host is Auto.
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

// UnknownError is returned for a name that is not a dialect.
type UnknownError struct {
	Name string
	Near []Name // similar names, the nearest first; may be empty
}

// Error suggests the nearest names.
func (e *UnknownError) Error() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("dialect: %.80q is unknown: %q recognises the provider by its responses", e.Name, Auto)
	}
	quoted := make([]string, len(e.Near))
	for i, n := range e.Near {
		quoted[i] = strconv.Quote(string(n))
	}
	return fmt.Sprintf("dialect: %.80q is unknown: did you mean %s?", e.Name, strings.Join(quoted, " or "))
}
