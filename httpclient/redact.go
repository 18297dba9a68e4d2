package httpclient

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/headrace/headrace/internal/redact"
)

const (
	redacted  = redact.Mark
	minSecret = redact.MinSecret
	maxText   = redact.MaxText
)

// redactURL leaves out userinfo, fragment and the values of the query.
func redactURL(u *url.URL) string {
	if u == nil {
		return ""
	}
	out := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath, RawQuery: redactQuery(u.RawQuery)}
	if u.Opaque != "" {
		out = url.URL{Scheme: u.Scheme, Opaque: redacted}
	}
	return out.String()
}

func redactQuery(query string) string {
	if query == "" {
		return ""
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, _, named := strings.Cut(part, "=")
		switch {
		case named:
			parts[i] = name + "=" + redacted
		case part != "":
			parts[i] = redacted // it may be a value whose name was forgotten
		}
	}
	return strings.Join(parts, "&")
}

// secretsOf collects what must not be repeated of req.
func secretsOf(req *http.Request) []string { return redact.Secrets(req) }

// scrub is redact.Error, but leaves a *GateError what it is.
func scrub(err error, secrets []string) error {
	if refused, ok := errors.AsType[*GateError](err); ok {
		return refused.without(secrets)
	}
	return redact.Error(err, secrets)
}

func scrubText(text string, secrets []string) string { return redact.Text(text, secrets) }

func harmless(header string) bool { return redact.Harmless(header) }
