package httpclient

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// Secret is a credential that is never printed or marshalled: fmt, log/slog, JSON and other encoders
// get "REDACTED", or nothing for the zero Secret; gob rejects it. This also holds in unexported struct
// fields. Compare secrets with Equal, not ==.
type Secret struct {
	source func() (string, error) // a function, because no printing looks into one
	steady bool                   // asking the source costs nothing, so a constructor may
}

var errNoSecret = errors.New("httpclient: the secret is empty")

// NewSecret returns a secret with this value. Empty means the zero Secret.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{func() (string, error) { return value, nil }, true}
}

// SecretFromEnv returns a secret that is read from an environment variable at each use. If the
// variable is unset or empty, Reveal and endpoint.New fail with an error that names it.
func SecretFromEnv(name string) Secret {
	return Secret{func() (string, error) {
		switch value, set := os.LookupEnv(name); {
		case !set:
			return "", fmt.Errorf("httpclient: the environment variable %s is not set", variable(name))
		case value == "":
			return "", fmt.Errorf("httpclient: the environment variable %s is empty", variable(name))
		default:
			return value, nil
		}
	}, true}
}

// SecretFunc returns a secret that source supplies at each attempt, for keys that change. source must
// be fast and safe for concurrent use, and its errors must not hold the secret.
func SecretFunc(source func() (string, error)) Secret { return Secret{source: source} }

// Reveal returns the value, or the error of its source.
func (s Secret) Reveal() (string, error) {
	if s.source == nil {
		return "", errNoSecret
	}
	return s.source()
}

// IsZero reports whether s is unset.
func (s Secret) IsZero() bool { return s.source == nil }

// Equal compares the current values in constant time, except for their length. A source that fails
// equals nothing.
func (s Secret) Equal(other Secret) bool {
	if s.IsZero() || other.IsZero() {
		return s.IsZero() && other.IsZero()
	}
	a, errA := s.Reveal()
	b, errB := other.Reveal()
	return errA == nil && errB == nil && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// String returns "REDACTED", or "".
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// Format implements fmt.Formatter.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'v' && f.Flag('#') {
		text = "httpclient.Secret(" + s.String() + ")"
	}
	_, _ = f.Write([]byte(text)) // fmt keeps the error
}

// MarshalText implements encoding.TextMarshaler. It is one-way.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// variable is the name of a variable as an error may show it: what is spelt as no name is, or is as
// long as a key, may be the key itself, put where its name belongs.
func variable(name string) string {
	const longest = 20
	odd := func(allowed func(r rune) bool) bool {
		return strings.ContainsFunc(name, func(r rune) bool { return r != '_' && (r < '0' || r > '9') && !allowed(r) })
	}
	upper := func(r rune) bool { return 'A' <= r && r <= 'Z' }
	letter := func(r rune) bool { return upper(r) || 'a' <= r && r <= 'z' }
	if odd(letter) || odd(upper) && len(name) > longest {
		return "(not shown, because it may be the secret: the name of a variable is wanted)"
	}
	return fmt.Sprintf("%q", name)
}
