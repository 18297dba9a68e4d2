package redact

import (
	"net/url"
	"strings"
)

// URL leaves out userinfo, fragment and the values of the query.
func URL(u *url.URL) string {
	if u == nil {
		return ""
	}
	out := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath, RawQuery: query(u.RawQuery)}
	if u.Opaque != "" {
		out = url.URL{Scheme: u.Scheme, Opaque: Mark}
	}
	return out.String()
}

func query(raw string) string {
	if raw == "" {
		return ""
	}
	parts := strings.Split(raw, "&")
	for i, part := range parts {
		name, _, named := strings.Cut(part, "=")
		switch {
		case named:
			parts[i] = name + "=" + Mark
		case part != "":
			parts[i] = Mark // it may be a value without its name
		}
	}
	return strings.Join(parts, "&")
}
