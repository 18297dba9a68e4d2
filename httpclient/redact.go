package httpclient

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/headrace/headrace/internal/redact"
)

const (
	redacted  = redact.Mark
	minSecret = redact.MinSecret
	maxText   = redact.MaxText
)

// redactURL leaves out userinfo, fragment and the values of the query.
func redactURL(u *url.URL) string { return redact.URL(u) }

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
