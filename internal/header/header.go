// Package header says what a header of HTTP can hold, and which ones are not the user's to set.
package header

import (
	"net/http"
	"strings"

	"github.com/headrace/headrace/internal/redact"
)

// The headers of the ids that package httpclient sends, in their canonical form.
const (
	CorrelationID = "X-Correlation-Id"
	RunID         = "X-Run-Id"
)

// IsToken reports whether s can be the name of a header or a method, as RFC 9110 has it.
func IsToken(s string) bool { return s != "" && !strings.ContainsFunc(s, notOfToken) }

func notOfToken(r rune) bool {
	letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// Shown is what an error shows of a name that is none: what comes after the name may be the secret.
func Shown(s string) string {
	if i := strings.IndexFunc(s, notOfToken); i >= 0 {
		return s[:i] + "..."
	}
	return s
}

// ValueProblem says why a value cannot be sent in a header, without it.
func ValueProblem(value string) string {
	switch {
	case value == "":
		return "is empty"
	case strings.TrimSpace(value) != value:
		return "begins or ends with white space, such as a line break"
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return "has a control character in it, such as a line break"
	default:
		return ""
	}
}

// Reserved says what sets a header that is not the user's to set, or "".
func Reserved(name string) string {
	switch http.CanonicalHeaderKey(name) {
	case "Content-Length", "Host", "Trailer", "Transfer-Encoding":
		return "is set by net/http; leave it out"
	case "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Upgrade":
		return "is for the connection and not for the service; leave it out"
	case "Content-Type":
		return "is set by ContentType; leave it out here"
	case "Idempotency-Key":
		return "would be the same for all calls; set IdempotencyKeys, which makes one for each"
	case CorrelationID:
		return "would be the same for all calls; leave it out, each has an id of its own"
	case RunID:
		return "is set by Config.RunID; leave it out here"
	default:
		return ""
	}
}

// SecretProblem says why a secret cannot go into a header. What is harmless is shown in errors as it is.
func SecretProblem(name string) string {
	if Reserved(name) == "" && !redact.Harmless(http.CanonicalHeaderKey(name)) {
		return ""
	}
	return "is not a header for a secret; want one such as Authorization or X-Api-Key"
}
