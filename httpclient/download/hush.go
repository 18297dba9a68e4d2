package download

import (
	"errors"
	"net/url"
	"strings"

	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/redact"
)

// hush takes the URL off what an *http.Client says, and the request's secrets out
// of it; errors.Is sees the causes. An *httpclient.Error has none.
func (s *session) hush(err error) error {
	if outside, ok := err.(*url.Error); ok { //nolint:errorlint // the one that http.Client puts around, and no other
		err = outside.Err
	}
	if _, ok := errors.AsType[*httpclient.Error](err); ok {
		return err
	}
	if strings.Contains(err.Error(), "Location header") { // and its value, which may be signed
		return redact.Saying("the Location of the redirect is not a URL", err)
	}
	return redact.Error(err, redact.Secrets(s.req))
}
