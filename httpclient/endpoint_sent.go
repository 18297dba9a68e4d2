package httpclient

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
)

// sentSecrets are what was signed with in one call: of several attempts each may have another.
type sentSecrets struct {
	mu     sync.Mutex // guards values
	values []string
}

type sentKey struct{}

// remember notes a secret with the call that ctx is of, if any.
func remember(ctx context.Context, value string) {
	s, ok := ctx.Value(sentKey{}).(*sentSecrets)
	if !ok || len(value) < minSecret {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = append(s.values, value)
}

// hide replaces the secrets where the answer in err repeats them, as some do that refuse a key.
func (s *sentSecrets) hide(err error) {
	failed, ok := errors.AsType[*Error](err)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range s.values {
		failed.Body = bytes.ReplaceAll(failed.Body, []byte(secret), []byte(redacted))
		failed.Header = failed.Header.Clone()
		for _, values := range failed.Header {
			for i := range values {
				values[i] = strings.ReplaceAll(values[i], secret, redacted)
			}
		}
	}
}

// redactHeader is h with only those values that cannot be secret.
func redactHeader(h http.Header) http.Header {
	shown := make(http.Header, len(h)+1)
	for name, values := range h {
		if harmless(name) {
			shown[name] = values
			continue
		}
		shown[name] = []string{redacted}
	}
	return shown
}
