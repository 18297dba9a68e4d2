package httpclient

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/headrace/headrace/internal/redact"
)

// sentSecrets are what was signed with in one call: of several attempts each may have another.
type sentSecrets struct {
	mu      sync.Mutex // guards the rest
	headers []string
	values  []string
}

type sentKey struct{}

// remember notes a header and the secret in it with the call that ctx is of, if any.
func remember(ctx context.Context, header, value string) {
	redact.Sent(ctx, value)
	s, ok := ctx.Value(sentKey{}).(*sentSecrets)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.headers = append(s.headers, header)
	if !slices.Contains(s.values, value) {
		s.values = append(s.values, value)
	}
}

// show adds the headers that were signed.
func (s *sentSecrets) show(h http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.headers {
		h.Set(name, redacted)
	}
}

// spellings are the secrets in every form that an answer may repeat them in, the longest first.
func (s *sentSecrets) spellings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return redact.Credentials(slices.Clone(s.values))
}

// check is CheckStatus, with the secrets replaced where the answer repeats them, as some do that refuse a key. It reads more than
// is kept, so that the cut leaves no part of one.
func (s *sentSecrets) check(resp *http.Response) error {
	secrets := s.spellings()
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
