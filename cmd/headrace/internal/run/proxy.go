package run

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
)

// proxy describes the HTTP proxy that the environment sets for the service. It is zero if there is none.
type proxy struct {
	host     string // without the user and the password
	variable string // that sets it
}

// through says that a call was made through the proxy.
func (p proxy) through() string {
	if p == (proxy{}) {
		return ""
	}
	return fmt.Sprintf(" through the proxy %s (%s)", p.host, p.variable)
}

// check is what to check if a service cannot be reached because of err.
func (p proxy) check(err error) string {
	const rest = "--base-url, and whether the service is up"
	switch {
	case p == (proxy{}):
		return rest
	case errors.As(err, new(*deniedError)):
		return p.credentials()
	}
	return p.variable + ", " + rest
}

// credentials is what to check after a 407.
func (p proxy) credentials() string { return "the user and the password in " + p.variable }

// deniedError is a 407 of a proxy that was asked for a connection.
type deniedError struct{ text string }

func (e *deniedError) Error() string { return e.text }

// lostError is the error of a call that has reached no server because of err; text says how far it got.
func lostError(err error, text string) error {
	if by, ok := errors.AsType[interface {
		error
		ProxyStatus() int
	}](err); ok && by.ProxyStatus() == http.StatusProxyAuthRequired {
		return &deniedError{text}
	}
	return errors.New(text)
}

// proxyFor returns the proxy for base, also as a URL, which is nil if there is none. Errors do not repeat the value of the variable, because it
// may hold a password.
func proxyFor(base *url.URL) (p proxy, through *url.URL, err error) {
	through, err = http.ProxyFromEnvironment(&http.Request{URL: base})
	variable := proxyVariable(base.Scheme, os.Getenv)
	switch {
	case err == nil && through == nil && !ignored(base, variable):
		return p, nil, nil
	case err != nil, through == nil, through.Hostname() == "", strings.HasSuffix(through.Host, ":"), cutShort(through):
		return p, nil, &settings.Error{Flag: variable, Problem: "it is not the URL of a proxy: use one such as http://localhost:3128, with %2F for a / in its password, or set NO_PROXY for " + base.Hostname()}
	}
	switch through.Scheme {
	case "http", "https", "socks5", "socks5h":
	default:
		return p, nil, &settings.Error{Flag: variable, Problem: "its scheme is not supported: use http, https, socks5 or socks5h"}
	}
	return proxy{through.Host, variable}, through, nil
}

// cutShort reports whether the host of u ends at a character of the user or the password that is not escaped.
func cutShort(u *url.URL) bool { return strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") }

// ignored reports whether net/http ignores the proxy of a variable for base because its value is not a URL.
func ignored(base *url.URL, variable string) bool {
	if os.Getenv(variable) == "" {
		return false
	}
	c := httpproxy.FromEnvironment()
	c.HTTPProxy, c.HTTPSProxy = "http://localhost", "http://localhost"
	valid, err := c.ProxyFunc()(base)
	return err == nil && valid != nil // NO_PROXY does not exclude it
}

// proxyVariable returns the variable that sets the proxy for a scheme, as net/http looks for it.
func proxyVariable(scheme string, getenv func(string) string) string {
	upper, lower := "HTTP_PROXY", "http_proxy"
	if scheme == "https" {
		upper, lower = "HTTPS_PROXY", "https_proxy"
	}
	if getenv(upper) == "" {
		return lower
	}
	return upper
}
