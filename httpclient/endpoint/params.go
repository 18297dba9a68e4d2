package endpoint

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/header"
)

// Params is a payload with parameters of its own, for Caller.Call of an [Endpoint].
type Params struct {
	// Path has a value for each name in braces in Config.Path, such as id in /batches/{id}. A
	// value is escaped, and must not be empty or lead to another path.
	Path map[string]string

	// Query is added to the URL. A name that the URL has already is replaced.
	Query url.Values

	// Header is added to Config.Headers, and takes precedence. It may have an Idempotency-Key and
	// an X-Correlation-Id, but none that the endpoint or net/http sets.
	Header map[string]string

	// Payload is what is sent, as for Call. Nil means no body.
	Payload any
}

// paramsOf takes a payload apart.
func paramsOf(payload any) (p Params) {
	switch given := payload.(type) {
	case Params:
		return given
	case *Params:
		if given != nil {
			return *given
		}
		return Params{}
	}
	return Params{Payload: payload}
}

// pathNames returns the names in braces of a path, and what is wrong with them.
func pathNames(path string) (names []string, problem string) {
	plain, _, _ := strings.Cut(path, "?")
	for {
		before, rest, opened := strings.Cut(plain, "{")
		name, after, closed := strings.Cut(rest, "}")
		switch {
		case strings.Contains(before, "}"), opened && !closed, opened && (name == "" || strings.ContainsFunc(name, notOfName)):
			return nil, "has braces that hold no name; want such as /batches/{id}"
		case !opened:
			return names, ""
		}
		names, plain = append(names, name), after
	}
}

func notOfName(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || '9' < r) && (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r)
}

// expand puts values into the braces of a path.
func expand(path string, values map[string]string) (string, error) {
	names, _ := pathNames(path)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			return "", fmt.Errorf("endpoint: Params.Path[%s]: the path has no {%s}", name, name)
		}
	}
	if len(names) == 0 {
		return path, nil
	}
	plain, query, asks := strings.Cut(path, "?")
	for _, name := range names {
		value := values[name]
		if value == "" {
			return "", fmt.Errorf("endpoint: Params.Path[%s] is missing", name)
		}
		plain = strings.ReplaceAll(plain, "{"+name+"}", url.PathEscape(value))
	}
	if problem := pathProblem(plain); problem != "" { // which does not repeat the value
		return "", fmt.Errorf("endpoint: Params.Path: the path %s", problem)
	}
	if asks {
		plain += "?" + query
	}
	return plain, nil
}

// where is the URL of a call.
func (t *target) where(p *Params) (*url.URL, error) {
	path, err := expand(t.path, p.Path)
	if err != nil {
		return nil, err
	}
	to, err := join(t.base, path)
	if err != nil || len(p.Query) == 0 {
		return to, err
	}
	query := to.Query()
	maps.Copy(query, p.Query)
	to.RawQuery = query.Encode()
	return to, nil
}

// with adds the headers of a call.
func (t *target) with(p *Params, h http.Header) error {
	for _, name := range slices.Sorted(maps.Keys(p.Header)) {
		canonical := http.CanonicalHeaderKey(name)
		problem := ""
		switch {
		case !header.IsToken(name):
			return fmt.Errorf("endpoint: Params.Header: %q is not a header name", header.Shown(name))
		case canonical == t.auth:
			problem = "is the header in which Auth sends the Secret; leave one of them out"
		case canonical != "Idempotency-Key" && canonical != header.CorrelationID:
			problem = header.Reserved(name)
		}
		if problem == "" && p.Header[name] != "" {
			if wrong := header.ValueProblem(p.Header[name]); wrong != "" {
				problem = "has a value that " + wrong
			}
		}
		if problem != "" {
			return fmt.Errorf("endpoint: Params.Header[%s] %s", name, problem)
		}
		h.Set(name, p.Header[name])
	}
	return nil
}
