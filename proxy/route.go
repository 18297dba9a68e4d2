package proxy

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/near"
)

// route is what the target of a request says.
type route struct {
	client   string // empty: it is not named
	token    string
	name     string    // of the upstream
	upstream *upstream // nil: there is none of that name
	prefix   string    // of the path: what came before the next
	path     string    // escaped, for the upstream: what followed its name
	query    string    // without the question mark
	hasQuery bool
}

// routeOf takes the target of a request apart. The upstream may be nil.
func (p *Proxy) routeOf(r *http.Request, to *route) *failure {
	if r.Method == http.MethodConnect || !strings.HasPrefix(r.RequestURI, "/") {
		return fail(CodePath, "the request is not for a path of this proxy: set its address as the base URL of the client, not as its proxy")
	}
	path, query, hasQuery := strings.Cut(r.RequestURI, "?")
	to.path, to.query, to.hasQuery = path, query, hasQuery
	for {
		switch to.name, to.path = element(to.path); to.name {
		case "c":
			if to.client, to.path = element(to.path); !validName.MatchString(to.client) {
				return fail(CodeClient, "the client name after /c/ must be up to 64 letters, digits, dots, dashes and underscores, a letter or digit first")
			}
		case "t":
			to.token, to.path = element(to.path)
		default:
			to.upstream = p.upstreams[to.name]
			to.prefix = strings.TrimSuffix(path, to.path)
			return nil
		}
	}
}

// element cuts the first element from an escaped path.
func element(path string) (first, rest string) {
	path = strings.TrimPrefix(path, "/")
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// known refuses a request for no upstream, and a path that cannot be passed on
// as it is.
func (p *Proxy) known(to *route) *failure {
	if to.upstream == nil {
		names := slices.Sorted(maps.Keys(p.upstreams))
		text := "the first element of the path is not an upstream"
		if hints := near.Names(to.name, names, 1); len(hints) > 0 {
			text += ": did you mean " + hints[0] + "?"
		} else {
			text += "."
		}
		return fail(CodeUpstream, "%s Known are %s; --upstream NAME=URL adds one", text, strings.Join(names, ", "))
	}
	if plain(to.path) && !strings.Contains(to.query, "#") {
		return nil
	}
	unescaped, err := url.PathUnescape(to.path)
	switch {
	case err != nil, (&url.URL{Path: unescaped, RawPath: to.path}).EscapedPath() != to.path, strings.Contains(to.query, "#"):
		return fail(CodePath, "the path or the query has characters that must be percent-encoded")
	}
	for part := range strings.FieldsFuncSeq(unescaped, func(c rune) bool { return c == '/' || c == '\\' }) {
		if part == "." || part == ".." {
			return fail(CodePath, "the path has the element %q: remove it", part)
		}
	}
	return nil
}

// plain reports whether a path has only elements of letters, digits, dashes and
// underscores, with dots between: no encoding changes it, and none is "." or "..".
func plain(path string) bool {
	before := byte('/')
	for i := range len(path) {
		c := path[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c == '_', c == '-', c == '/':
		case c == '.' && before != '/' && before != '.':
		default:
			return false
		}
		before = c
	}
	return true
}

// target is the URL that a request is sent to.
func (to *route) target() url.URL {
	u := *to.upstream.url
	raw := to.upstream.path + to.path
	u.Path, _ = url.PathUnescape(raw) // known has checked it; without an escape it is the same text
	u.RawPath = raw
	u.RawQuery, u.ForceQuery = to.query, to.hasQuery && to.query == ""
	return u
}
