package httpclient

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// Secret is a credential that is never printed and never marshalled: fmt with
// any verb, log/slog, JSON and whatever else asks for text get
// "REDACTED", or nothing where there is no secret; gob refuses it. That holds for structs that have one in an
// unexported field too, where fmt shows the address of a function.
//
// The zero Secret is none. A Secret is safe for concurrent use if its source is. Secrets
// are not compared by ==, but by Equal.
type Secret struct {
	source func() (string, error) // a function, because no printing looks into one
	steady bool                   // asking the source costs nothing, so a constructor may
}

var errNoSecret = errors.New("httpclient: there is no secret")

// NewSecret returns a secret of the value. An empty one is none.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{func() (string, error) { return value, nil }, true}
}

// SecretFromEnv returns the secret in an environment variable, which is read each
// time that the secret is used. If it is not set, or empty, Reveal fails with an
// error that names it, and so does [NewEndpoint].
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

// SecretFunc returns a secret that source is asked for at each attempt, so that
// keys can change. It must be safe for concurrent use, and quick: it
// has to remember what was costly to find out. Its errors must not hold the secret.
func SecretFunc(source func() (string, error)) Secret { return Secret{source: source} }

// Reveal returns the secret itself. The error is that of its source.
func (s Secret) Reveal() (string, error) {
	if s.source == nil {
		return "", errNoSecret
	}
	return s.source()
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.source == nil }

// Equal reports whether both have the same value now, or are none, in a time that tells nothing
// about the values but their length. A source that fails is equal to nothing.
func (s Secret) Equal(other Secret) bool {
	if s.IsZero() || other.IsZero() {
		return s.IsZero() && other.IsZero()
	}
	a, errA := s.Reveal()
	b, errB := other.Reveal()
	return errA == nil && errB == nil && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// String returns "REDACTED", or nothing if there is no secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// Format writes the same for every verb and flag, but that %#v is GoString.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'v' && f.Flag('#') {
		text = "httpclient.Secret(" + s.String() + ")"
	}
	_, _ = f.Write([]byte(text)) // fmt keeps the error
}

// MarshalText is what JSON, XML and YAML get. There is no way back.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is what log/slog gets.
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
