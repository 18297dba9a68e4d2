package httpclient

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

const (
	redacted = "REDACTED"

	// A value that is shorter is no secret, and replacing it would garble the text.
	minSecret = 4
	// maxText bounds what a cause says: it may be the other side's words.
	maxText = 1 << 10
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

// secretsOf collects what must not be repeated of req: every value that a header of an unknown name or a query can
// hold.
func secretsOf(req *http.Request) []string {
	var found []string
	add := func(value string) {
		if len(value) >= minSecret {
			found = append(found, value)
		}
	}
	for name, values := range req.Header {
		if harmless(name) {
			continue
		}
		for _, value := range values {
			add(value)
			if _, token, ok := strings.Cut(value, " "); ok { // "Bearer x"
				add(token)
			}
		}
	}
	if u := req.URL; u != nil {
		for part := range strings.SplitSeq(u.RawQuery, "&") {
			name, value, named := strings.Cut(part, "=")
			if !named {
				value = name
			}
			add(value)
			if plain, err := url.QueryUnescape(value); err == nil {
				add(plain)
			}
		}
		if u.User != nil {
			password, _ := u.User.Password()
			add(u.User.Username())
			add(password)
			add(u.User.String())
		}
	}
	return found
}

// harmless names the headers whose values are words of the protocol.
func harmless(name string) bool {
	switch name {
	case "Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Connection", "Content-Encoding",
		"Content-Length", "Content-Type", "Date", "Expect", "Host", "If-Modified-Since", "Range", "User-Agent",
		correlationHeader, runHeader:
		return true
	default:
		return false
	}
}

// scrub returns err, or if its text holds a secret or is long, an error that has only the text without, and answers
// errors.Is as err does.
func scrub(err error, secrets []string) error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*GateError](err); ok {
		return refused.without(secrets)
	}
	whole := err.Error()
	text := scrubText(whole, secrets)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	if text == whole {
		return err
	}
	return &scrubbedError{text, func(target error) bool { return errors.Is(err, target) }}
}

func scrubText(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}

// scrubbedError hides its origin in a function, where no printing finds it.
type scrubbedError struct {
	text string
	is   func(target error) bool
}

func (e *scrubbedError) Error() string        { return e.text }
func (e *scrubbedError) Is(target error) bool { return e.is(target) }
