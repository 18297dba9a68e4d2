package endpoint

import (
	"net/http"
	"strings"

	"github.com/headrace/headrace/internal/header"
	"github.com/headrace/headrace/internal/invalid"
)

// Auth is how an [Endpoint] sends its Secret.
type Auth string

// The ways to send a secret.
const (
	AuthBearer Auth = "bearer" // Authorization: httpclient.Bearer ...
	AuthHeader Auth = "header" // in the header Config.AuthHeader
	AuthNone   Auth = "none"
)

// validateAuth returns the value of the secret if it can be had by now.
func (c Config) validateAuth(p *invalid.Problems) string {
	var value string
	if seen().Steady(c.Secret) {
		var err error
		if value, err = c.Secret.Reveal(); err != nil {
			p.Addf("Secret", "%s", strings.TrimPrefix(err.Error(), "httpclient: "))
		} else if problem := header.ValueProblem(value); problem != "" {
			p.Addf("Secret", "it %s", problem)
		}
	}
	auth := c.auth()
	switch auth {
	case AuthBearer, AuthHeader:
		if c.Secret.IsZero() && c.Client == nil {
			p.Addf("Secret", "is missing, and Auth is %q; set one, or Auth to %q", auth, AuthNone)
		}
	case AuthNone:
		if !c.Secret.IsZero() {
			p.Addf("Auth", "%q contradicts Secret; leave one of them out", auth)
		}
	default:
		all := []Auth{AuthBearer, AuthHeader, AuthNone}
		p.Addf("Auth", "is unknown; %s", meant(string(auth), all)) // not shown: it may be "Bearer ..."
	}
	switch {
	case auth == AuthHeader && c.AuthHeader == "":
		p.Addf("AuthHeader", "is missing, and Auth is %q; want the name of a header, such as X-Api-Key", auth)
	case auth == AuthHeader && !header.IsToken(c.AuthHeader):
		p.Addf("AuthHeader", "%q is not a header name; want one such as X-Api-Key", header.Shown(c.AuthHeader))
	case auth == AuthHeader && header.SecretProblem(c.AuthHeader) != "":
		p.Addf("AuthHeader", "%q %s", c.AuthHeader, header.SecretProblem(c.AuthHeader))
	case auth != AuthHeader && c.AuthHeader != "":
		p.Addf("AuthHeader", "contradicts Auth, %q; leave one of them out", auth)
	}
	return value
}

func (c Config) auth() Auth {
	switch {
	case c.Auth != "":
		return c.Auth
	case c.AuthHeader != "":
		return AuthHeader
	case c.Secret.IsZero():
		return AuthNone
	default:
		return AuthBearer
	}
}

// authName is the header that the secret goes into, or "".
func (c Config) authName() string {
	switch c.auth() {
	case AuthBearer:
		return "Authorization"
	case AuthHeader:
		return http.CanonicalHeaderKey(c.AuthHeader)
	case AuthNone:
	}
	return ""
}
