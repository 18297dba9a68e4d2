package httpclient

import (
	"bytes"
	"errors"
	"net/http"

	"github.com/headrace/headrace/internal/redact"
)

// checkScrubbed is CheckStatus, with the secrets, the longest first, replaced where the answer repeats them, as some do that refuse
// a key. It reads more than is kept, so that the cut leaves no part of one.
func checkScrubbed(resp *http.Response, secrets []string) error {
	longest := 0
	if len(secrets) > 0 {
		longest = len(secrets[0])
	}
	err := checkStatus(resp, maxKept+longest)
	failed, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	whole := len(failed.Body) < maxKept+longest
	for _, secret := range secrets {
		failed.Body = bytes.ReplaceAll(failed.Body, []byte(secret), []byte(redacted))
	}
	if !whole { // its end may be the beginning of a secret
		failed.Body = failed.Body[:max(0, len(failed.Body)-longest)]
	}
	failed.Body = failed.Body[:min(len(failed.Body), maxKept)]
	failed.Header = failed.Header.Clone()
	for _, values := range failed.Header {
		for i := range values {
			values[i] = scrubText(values[i], secrets)
		}
	}
	return err
}

// redactHeader is h with only those values that cannot be secret.
func redactHeader(h http.Header) http.Header {
	shown := make(http.Header, len(h)+1)
	for name, values := range h {
		if redact.Harmless(name) {
			shown[name] = values
			continue
		}
		shown[name] = []string{redacted}
	}
	return shown
}
