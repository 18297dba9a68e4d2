package endpoint

import (
	"bytes"
	"io"
	"net/http"

	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/redact"
)

// checkStatus is httpclient.CheckStatus, with the secrets, the longest first, replaced where the answer repeats them, as some do that
// refuse a key. It reads more than is kept, so that the cut leaves no part of one.
func checkStatus(resp *http.Response, secrets []string) error {
	if resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices {
		return nil
	}
	longest := 0
	if len(secrets) > 0 {
		longest = len(secrets[0])
	}
	failed := seen().Failed(resp, httpclient.CodeStatus, nil)
	failed.StatusCode, failed.Header = resp.StatusCode, resp.Header.Clone()
	if resp.Body != nil {
		failed.Body, _ = io.ReadAll(io.LimitReader(resp.Body, int64(maxKept+longest))) // the status is the error
		_ = resp.Body.Close()
	}
	whole := len(failed.Body) < maxKept+longest
	for _, secret := range secrets {
		failed.Body = bytes.ReplaceAll(failed.Body, []byte(secret), []byte(redact.Mark))
	}
	if !whole { // its end may be the beginning of a secret
		failed.Body = failed.Body[:max(0, len(failed.Body)-longest)]
	}
	failed.Body = failed.Body[:min(len(failed.Body), maxKept)]
	for _, values := range failed.Header {
		for i := range values {
			values[i] = redact.Text(values[i], secrets)
		}
	}
	return failed
}

// rejected is the error of a response that a check of answers has rejected because of err.
func rejected(resp *http.Response, err error, secrets []string) error {
	return seen().Failed(resp, httpclient.CodeAnswer, redact.Error(err, secrets))
}

// maxKept is how much of the body of a response is kept that is not 2xx.
const maxKept = 64 << 10

// redactHeader is h with only those values that cannot be secret.
func redactHeader(h http.Header) http.Header {
	shown := make(http.Header, len(h)+1)
	for name, values := range h {
		if redact.Harmless(name) {
			shown[name] = values
			continue
		}
		shown[name] = []string{redact.Mark}
	}
	return shown
}
