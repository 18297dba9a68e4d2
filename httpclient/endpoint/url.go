package endpoint

import (
	"net/url"
	"strconv"
	"strings"
)

// parseBase reads a BaseURL. The problem does not repeat it: it may hold a password.
func parseBase(text string) (base *url.URL, problem string) {
	const want = "want such as https://api.example.com/v1"
	switch {
	case text == "":
		return nil, "is missing; " + want
	case unescaped(text):
		return nil, "has white space or a control character in it; " + want
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, "is not a URL; " + want
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, "its scheme is neither https nor http; " + want
	case u.Hostname() == "":
		return nil, "has no host; " + want
	case !hasPort(u):
		return nil, "its port is invalid; want 1 to 65535, or leave it out"
	case u.User != nil:
		return nil, "has a user in it; put that into Secret, with AuthHeader \"Authorization\""
	case u.Fragment != "" || strings.Contains(text, "#"):
		return nil, "has a fragment, which is never sent; leave it out"
	}
	return u, ""
}

// pathProblem says what keeps a Path from going below a BaseURL.
func pathProblem(path string) string {
	plain, _, _ := strings.Cut(path, "?")
	decoded, err := url.PathUnescape(plain)
	switch {
	case err != nil, unescaped(path):
		return "it is not a URL path; escape its parts with url.PathEscape"
	case strings.Contains(path, "#"):
		return "has a fragment, which is never sent; leave it out"
	case strings.HasPrefix(plain, "//"), strings.HasPrefix(plain, "http://"), strings.HasPrefix(plain, "https://"):
		return "is a URL of its own; put the host into BaseURL"
	}
	for segment := range strings.SplitSeq(strings.ReplaceAll(decoded, `\`, "/"), "/") {
		if segment == "." || segment == ".." {
			return "has a segment of dots, which leads elsewhere; write where it leads"
		}
	}
	return ""
}

// join puts path, which may have a query, below base.
func join(base *url.URL, path string) (*url.URL, error) {
	plain, query, _ := strings.Cut(path, "?")
	to := *base
	if plain != "" {
		escaped := strings.TrimSuffix(base.EscapedPath(), "/") + "/" + strings.TrimPrefix(plain, "/")
		decoded, err := url.PathUnescape(escaped)
		if err != nil {
			return nil, err
		}
		to.Path, to.RawPath = decoded, escaped
	}
	to.RawQuery = strings.Trim(base.RawQuery+"&"+query, "&")
	return &to, nil
}

// unescaped reports whether there is something in text that no URL has in it as it is.
func unescaped(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// hasPort reports whether the port of u can be one. None is that of the scheme.
func hasPort(u *url.URL) bool {
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() == "" || err == nil && n > 0
}
