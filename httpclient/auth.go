package httpclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/headrace/headrace/internal/header"
	"github.com/headrace/headrace/internal/redact"
)

// Bearer returns a function for Config.Sign that sets "Authorization: Bearer" and the secret, for
// every host; see OnlyTo.
func Bearer(s Secret) func(*http.Request) error { return signHeader("Authorization", "Bearer ", s) }

// HeaderAuth returns a function for Config.Sign that sets a header, such as X-Api-Key, to the secret,
// for every host; see OnlyTo. A header that net/http or the client sets, such as Host or Content-Type,
// fails every request.
func HeaderAuth(name string, s Secret) func(*http.Request) error { return signHeader(name, "", s) }

func signHeader(name, prefix string, s Secret) func(*http.Request) error {
	return func(r *http.Request) error {
		if !header.IsToken(name) {
			return fmt.Errorf("httpclient: %q is not a header name", header.Shown(name))
		}
		if problem := header.SecretProblem(name); problem != "" {
			return fmt.Errorf("httpclient: %q %s", name, problem)
		}
		value, err := s.Reveal()
		if err != nil {
			return err
		}
		if problem := header.ValueProblem(value); problem != "" {
			return errors.New("httpclient: the secret " + problem)
		}
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header.Set(name, prefix+value)
		redact.Sent(r.Context(), name, value)
		return nil
	}
}

// OnlyTo limits sign, for Config.Sign, to requests with the scheme, host and port of the URL base.
// Others are sent unsigned, such as redirects followed above and requests of Config.Wrap to another
// service. The path of base does not count. If base is not a URL with a host, every request fails.
func OnlyTo(base string, sign func(*http.Request) error) func(*http.Request) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return func(*http.Request) error { // without base, which may hold a password
			return errors.New("httpclient: OnlyTo: base is not a URL with a host, such as https://api.example.com")
		}
	}
	allowed := origin(u)
	return func(r *http.Request) error {
		if origin(r.URL) != allowed {
			return nil
		}
		return sign(r)
	}
}

// origin is the one spelling of where u leads.
func origin(u *url.URL) string {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		switch scheme {
		case "https":
			port = "443"
		case "http":
			port = "80"
		}
	}
	return scheme + "://" + canonicalHost(u.Hostname()) + "|" + port
}
